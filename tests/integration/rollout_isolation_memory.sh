#!/usr/bin/env bash
# The folders of a sandbox that lie in the host's memory have a size.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"

sizes()
{
	task '{"verify":["true"]}' <<-'END'
		@sh df -B1 --output=size,target /run /var/tmp /dev/shm | tail -n +2 | tr -s ' '
		@sh for path in / /dev /dev/pts /etc /usr /proc /sys /home /opt; do (echo x >$path/octap-test) 2>/dev/null && echo "written: $path"; done
		@sh for path in /run /var/tmp /dev/shm /tmp /home/user; do echo x >$path/test || echo "not writable: $path"; done
		@sh echo x >/dev/null; head -c 1 /dev/zero | wc -c; exec 3<>/dev/ptmx && echo pty
		@sh head -c 20M /dev/zero >/run/large 2>/dev/null || echo full
		@call
	END
	rollout sizes
	check_result '.outcome == "completed"'
	check "what it saw" equals "$(agent_output | tr -s '\n ' ',,')" \
		",16777216,/run,268435456,/var/tmp,268435456,/dev/shm,1,pty,full,"
}

each_user sizes
