# For scripts that need several hosts: fake_ssh puts an `ssh` into PATH that runs each command on this machine.
# The script sets $work, a folder for it.

fake_ssh() {
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
