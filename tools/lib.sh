# Functions shared by .ci/run and the scripts in tools/; sourced by bash, never run.
#
# Every script works from any directory. Environment:
#   TAPEDECK_BUILD_DIR   the build directory; by default, .build in the checkout

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=${TAPEDECK_BUILD_DIR:-$root/.build}

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$(basename "$0"): $*"
    exit 1
}

# Runs a command as root, with sudo if necessary.
as_root() {
    if [[ $(id -u) -eq 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this command needs root, and sudo is not installed: $*"
    fi
}

# Installs missing Debian packages and prints their names; does nothing if all packages are installed.
install_packages() {
    local missing=() package
    for package in "$@"; do
        if [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) \
            != installed ]]; then
            missing+=("$package")
        fi
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    say "installing ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes \
        --no-install-recommends "${missing[@]}" >/dev/null
}

# Makes sure that the project can be built here.
prepare() {
    command -v swift >/dev/null || die "Swift is not installed; see https://www.swift.org/install"
    local version
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p')
    [[ $(printf '%s\n' 6.3 "${version:-0}" | sort --version-sort | head -n 1) == 6.3 ]] \
        || die "Swift 6.3 or newer is needed; the installed version is ${version:-unknown}"
    if command -v apt-get >/dev/null; then
        install_packages git ca-certificates pkg-config liblmdb-dev libisal-dev libzstd-dev \
            libxml2-dev "$@"
    else
        pkg-config --exists lmdb libisal libzstd libxml-2.0 2>/dev/null \
            || die "first install pkg-config, and LMDB, ISA-L, Zstandard and libxml2 with their headers"
    fi
}

# Builds a package in this checkout: the root package or a package in tools/. All packages share one build directory.
#   build_package DIRECTORY CONFIGURATION [ARGUMENTS OF swift build]
#
# SwiftPM caches one build plan per directory and configuration, and would use the plan of a different package.
# Therefore, this function neither reads nor leaves a cached plan.
build_package() {
    local directory=$1 configuration=$2 status=0
    shift 2
    swift build --package-path "$directory" --scratch-path "$build_dir" \
        --configuration "$configuration" --disable-build-manifest-caching "$@" || status=$?
    rm -f "$build_dir/$configuration.yaml"
    return "$status"
}

# Builds one product in release mode and prints the path of its executable.
#   release_build DIRECTORY PRODUCT
release_build() {
    local log=$build_dir/$2-build.log status=0 watcher
    mkdir -p "$build_dir"
    : >"$log"
    # The build runs in the foreground, so that an interrupt reaches it.
    show_build "$2" "$log" "$$" >&2 &
    watcher=$!
    build_package "$1" release --product "$2" >"$log" 2>&1 || status=$?
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    if [[ $status -ne 0 ]]; then
        cat "$log" >&2
        die "$2 does not build"
    fi
    printf '%s/release/%s\n' "$build_dir" "$2"
}

# Shows the progress of a long build: its last output line on a terminal, otherwise one line per minute.
#   show_build PRODUCT LOG PID
show_build() {
    local begun=$SECONDS passed line is_named=
    while sleep 1 && kill -0 "$3" 2>/dev/null; do
        passed=$((SECONDS - begun))
        [[ $passed -ge 3 ]] || continue
        if [[ -z $is_named ]]; then say "building $1; the log is $2"; fi
        is_named=1
        if [[ -t 2 ]]; then
            line=$(tail -n 1 "$2")
            printf '\r\033[K%d s  %s' "$passed" "${line:0:70}" >&2
        elif [[ $((passed % 60)) -eq 0 ]]; then
            say "still building $1 after $((passed / 60)) min"
        fi
    done
}

# Prints the time that has passed since $1 (in seconds, with decimals), such as "12.3 s".
elapsed() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", to - from }'; }

# Kills every process in a session, including processes in other process groups, because children of tests have their
# own groups.
kill_session() {
    local stat fields
    for stat in /proc/[0-9]*/stat; do
        # "pid (name) state parent group session …"; the name may contain any characters.
        read -r -d '' fields <"$stat" 2>/dev/null || true
        fields=(${fields##*) })
        if [[ ${fields[3]:-} == "$1" ]]; then
            stat=${stat%/stat}
            kill -9 "${stat##*/}" 2>/dev/null || true
        fi
    done
}

# Runs a command for at most the given number of seconds; returns 124 if it took longer. Also kills every process
# that the command has started.
#   limited SECONDS COMMAND...
limited() {
    local end=$((SECONDS + $1)) status=0
    shift
    # A shell makes background commands ignore SIGINT and SIGQUIT, but tests send these signals.
    setsid env --default-signal=INT,QUIT "$@" &
    limited_session=$!
    trap 'kill_session "$limited_session"' EXIT
    trap 'exit 130' INT TERM HUP
    while kill -0 "$limited_session" 2>/dev/null && [[ $SECONDS -lt $end ]]; do sleep 0.2; done
    if kill -0 "$limited_session" 2>/dev/null; then
        status=124
    else
        wait "$limited_session" || status=$?
    fi
    {
        kill_session "$limited_session"
        wait "$limited_session" || true
    } 2>/dev/null
    trap - EXIT INT TERM HUP
    return "$status"
}
