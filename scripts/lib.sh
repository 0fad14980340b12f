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
  "${root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# What building needs: Rust by rustup, and a C compiler for zstd.
need_build() {
  command -v cargo >/dev/null 2>&1 || {
    [ -x "$HOME/.cargo/bin/cargo" ] && PATH="$HOME/.cargo/bin:$PATH"
  }
  command -v cargo >/dev/null 2>&1 || die "no cargo" "install Rust from https://rustup.rs, then run this again"
  need cc gcc libc6-dev
}

# What mounting needs: the device, and without root the set-uid helper.
need_fuse() {
  [ -e /dev/fuse ] || die "there is no /dev/fuse on this machine: nothing can be mounted" \
    "\`modprobe fuse\` as root; in a container, run it with \`--device /dev/fuse --cap-add SYS_ADMIN\`"
  [ "$(id -u)" = 0 ] || need fusermount3 fuse3
}
