#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that install_packages.sh installs what is missing and nothing else, says nothing where
# nothing is, and ends with one line where it cannot. By running it with a PATH of stand-ins for
# dpkg-query, apt-get, sudo and id, which write down how they were called.
set -u

script=$RIG5_SOURCE_DIR/scripts/install_packages.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# world <installed packages> <uid> [no_dpkg] [sudo | sudo_password] [apt_fails]
world() {
	local bin=$work/bin option
	rm -rf "$bin" "$work/calls"
	mkdir "$bin"
	touch "$work/calls"
	for tool in bash env mktemp rm tail true; do
		ln -s "$(type -P $tool)" "$bin/$tool"
	done
	stand_in dpkg-query 'name=${@: -1}' \
		"[[ ' $1 ' == *\" \$name \"* ]] && echo installed && exit 0" \
		'[[ $name == halfgone ]] && echo config-files && exit 0; exit 1'
	stand_in id "echo $2"
	stand_in apt-get "echo apt-get \$DEBIAN_FRONTEND \"\$@\" >>$work/calls"
	for option in "${@:3}"; do
		case $option in
		no_dpkg) rm "$bin/dpkg-query" ;;
		sudo) stand_in sudo "echo sudo \"\$@\" >>$work/calls" \
			'[[ $1 == -n ]] && shift; exec "$@"' ;;
		sudo_password) stand_in sudo 'exit 1' ;;
		apt_fails) stand_in apt-get 'echo E: no network; exit 100' ;;
		esac
	done
}

stand_in() {
	local name=$1
	shift
	{
		echo '#!/bin/bash'
		printf '%s\n' "$@"
	} >"$work/bin/$name"
	chmod +x "$work/bin/$name"
}

# expect <case> <exit status> <output pattern> <calls pattern> <package>...
expect() {
	local name=$1 status=$2 output=$3 calls=$4 got said
	shift 4
	said=$(CI=true PATH=$work/bin bash "$script" "$@" 2>&1 </dev/null)
	got=$?
	if ((got != status)) || [[ ! $said =~ ^$output$ || ! $(<"$work/calls") =~ ^$calls$ ]]; then
		echo "$name: status $got, said '$said', calls '$(<"$work/calls")'"
		failed=1
	fi
}

any='(.|[[:space:]])*'
world 'gcc cmake' 0
expect 'nothing is missing' 0 '' '' gcc cmake

world 'gcc' 0
expect 'root' 0 'Installing cmake ninja-build' \
	"apt-get noninteractive $any update"$'\n'"apt-get noninteractive $any install -y$any cmake ninja-build" \
	gcc cmake ninja-build

world 'gcc' 0
expect 'removed, not purged' 0 'Installing halfgone' "$any install -y$any halfgone" gcc halfgone

world 'gcc' 1000 sudo
expect 'sudo' 0 'Installing cmake' "sudo -n true$any"$'\n'"apt-get noninteractive $any cmake" gcc cmake

world 'gcc' 1000
expect 'no sudo' 1 'rig5: cannot install cmake ninja-build: not root[^'$'\n'']*' '' cmake ninja-build

world 'gcc' 1000 sudo_password
expect 'sudo wants a password' 1 'rig5: cannot install cmake: sudo needs a password[^'$'\n'']*' '' cmake

world 'gcc' 0 apt_fails
expect 'apt-get fails' 1 "Installing cmake${any}E: no network${any}rig5: cannot install cmake: $any" '' \
	cmake

world '' 0 no_dpkg
expect 'not Debian' 0 '' '' gcc

exit $failed
