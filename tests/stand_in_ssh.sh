# What scripts share that want hosts: an ssh that begins here what it is told to begin there. They set work.

stand_in_ssh() {
  mkdir "$work/bin"
  cat > "$work/bin/ssh" << 'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
  [ "$1" != -o ] || shift
  shift
done
shift
exec sh -c "exec $*"
END
  chmod +x "$work/bin/ssh"
  PATH="$work/bin:$PATH"
}
