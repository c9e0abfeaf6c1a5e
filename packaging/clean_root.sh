#!/bin/sh
# Proves packages in a clean Debian 12: clean_root.sh FOLDER, whose *.deb are installed with all that they depend on, and then used as a user
# would. Needs root and mmdebstrap; leaves nothing behind. CLEAN_ROOT: a tar of a minimal Debian 12 to begin with, made if it is not there.
set -eu
debs=$(cd "$1" && pwd)
root=$(mktemp -d /tmp/gangway-clean-root.XXXXXX)
trap 'exit 1' INT TERM
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
base=${CLEAN_ROOT:-$root.tar}
[ -e "$base" ] || mmdebstrap --quiet --variant=apt bookworm "$base" http://deb.debian.org/debian
tar -C "$root" --exclude='./dev/*' -xf "$base"
[ -n "${CLEAN_ROOT:-}" ] || rm "$base"
mkdir -p "$root/debs" "$root/dev"
cp "$debs"/*.deb "$root/debs"
cp /etc/resolv.conf "$root/etc/resolv.conf"
for device in null zero random urandom; do cp -a "/dev/$device" "$root/dev/$device"; done
mkdir -p "$root/proc"
mount -t proc proc "$root/proc"

inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }

inside apt-get update -qq
inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/gangway_*.deb' >"$root/apt.log" 2>&1 || { cat "$root/apt.log"; exit 1; }
inside gangway --version
inside gangway list experiments | wc -l
inside gangway run frs/fig4 --out /root/fig4 | tail -2
inside gangway run colocation/live --set replications=1 --out /root/live | tail -1
inside sh -c 'gangway list experiments --json | grep -o "\"/[^\"]*\"" | tr -d \" | xargs gangway check' | tail -1
inside sh -c 'cd /root && gangway new policy mine >/dev/null && test -s mine.py'
inside getent group gangway
if ls "$debs"/python3-gangway_*.deb >/dev/null 2>&1; then
  inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/python3-gangway_*.deb' >"$root/apt.log" 2>&1 || { cat "$root/apt.log"; exit 1; }
  inside gangway report /root/fig4 --out /root/report.html
  inside test -s /root/report.html
  inside python3 -c 'import gangway
if not __import__("importlib.util").util.find_spec("gangway._core"): raise SystemExit("no compiled module: figures only")
print(gangway.Experiment("frs/fig4").run().summary[["policy", "antt"]].to_string(index=False))'
fi
inside sh -c 'apt-get remove -y -qq gangway >/dev/null 2>&1 && ! test -e /usr/share/gangway'
echo "the packages of $debs work in a clean Debian 12"
