// A library of another build, for tests: it has what a device library has, and another stamp.
extern "C" {
const char* lanista_device_stamp();
const void* lanista_device_library();
const char* lanista_device_stamp() { return "another"; }
const void* lanista_device_library() { return nullptr; }
}
