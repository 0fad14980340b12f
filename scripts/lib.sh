# What the scripts share: saying things, and installing what a fresh Debian machine lacks.
# To be sourced, not run.

say() { printf '\n\033[1m== %s\033[0m\n' "$*" >&2; }

die() { printf 'error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2; exit 1; }

# need COMMAND PACKAGE…: installs the packages if there is no such command.
need() {
  local command=$1
  shift
  command -v "$command" >/dev/null 2>&1 && return
  install "$@"
}

install() {
  command -v apt-get >/dev/null 2>&1 ||
    die "not found, and no apt-get to install it: $*" "install it by your system's means, then run this again"
  local root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || die "needs root to install: $*" "run \`apt-get install $*\` as root"
    root=(sudo)
  fi
  say "installing $*"
  # sudo passes no variables on; env does.
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# What building needs: Rust by rustup, and a C compiler for zstd.
need_build() {
  # Some services and containers set no HOME.
  HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
  export HOME
  command -v cargo >/dev/null 2>&1 || PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
  command -v cargo >/dev/null 2>&1 || die "no cargo" "install Rust from https://rustup.rs, then run this again"
  local wanted found
  wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
  found=$(cargo --version | cut -d' ' -f2)
  [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
    die "cargo is of version $found, and $wanted is needed" \
      "\`rustup update\`; the system's own package is too old: install Rust from https://rustup.rs"
  need cc gcc libc6-dev
}

# What mounting needs: the device, and without root the set-uid helper.
need_fuse() {
  [ -e /dev/fuse ] || die "there is no /dev/fuse on this machine: nothing can be mounted" \
    "\`modprobe fuse\` as root; in a container, run it with \`--device /dev/fuse --cap-add SYS_ADMIN\`"
  [ "$(id -u)" = 0 ] || need fusermount3 fuse3
}
