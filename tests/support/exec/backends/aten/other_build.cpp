// A device library of another build, for tests. It has the symbols of a device library and another stamp.
extern "C" {
const char* lanista_device_stamp();
const void* lanista_device_library();
const char* lanista_device_stamp() { return "another"; }
const void* lanista_device_library() { return nullptr; }
}
