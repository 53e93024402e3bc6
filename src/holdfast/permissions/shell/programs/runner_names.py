"""Names of programs that run another command which stands somewhere in their arguments."""

from typing import Final

from holdfast.permissions.shell.words.word import names

__all__ = ["RUNNERS"]

_ALWAYS: Final = names(
    # With other rights, limits, priorities or system calls.
    " pkexec setpriv capsh gosu su-exec s6-setuidgid setuidgid envuidgid chpst sg runcon newrole run0 sudo-rs dzdo"
    " pfexec ksu calife super please gksu gksudo kdesu kdesudo choom schedtool cset cgexec cpulimit trickle"
    " softlimit s6-softlimit timelimit linux32 linux64 i386 x86_64 uname26 arch aa-exec sandbox-exec landrun"
    " seccomp-exec tuna"
    # In a box, another root or another name space.
    " firejail bwrap proot nsjail minijail0 fakechroot fakeroot-ng fakeroot-sysv fakeroot-tcp rootlesskit"
    " systemd-nspawn schroot dchroot arch-chroot switch_root lxc-attach lxc-execute distrobox-enter flatpak-spawn"
    " lima wsl wsl.exe gchroot"
    # Through a proxy, a library in between or an emulator.
    " torify usewithtor tsocks socksify proxychains-ng eatmydata nocache faketime datefudge installwatch"
    " checkinstall ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 qemu-x86_64"
    " qemu-i386 qemu-arm qemu-aarch64 qemu-riscv64 box86 box64 wine toybox padsp aoss pasuspender optirun primusrun"
    " prime-run vglrun mangohud gamemoderun steam-run"
    # As a daemon, later, once, again, under a lock or in another terminal.
    " daemonize daemon start-stop-daemon dtach abduco byobu tmux screen openvt cage dbus-launch xinit startx"
    " wlheadless-run xwayland-run run-one run-this-one keep-one-running retry ts tsp nq setlock lockf lckdo"
    " with-lock-ex systemd-inhibit systemd-cat systemd-socket-activate gnome-session-inhibit elogind-inhibit"
    " pgrphack fghack argv0 dumb-init tini catatonit dockerize wait-for-it wait-for-it.sh wait-for watchexec nodemon"
    " onchange chokidar reflex watchman-make concurrently xjobs pexec rush mpirun mpiexec srun salloc sbatch qsub"
    " tcpserver gpg-agent"
    # With its output or its calls watched.
    " perf valgrind gdb gdbserver lldb rr heaptrack dtruss truss ktrace dtrace bpftrace uftrace trace-cmd operf"
    " ocount sotruss memusage tracexec nsys ncu nvprof hyperfine bench multitime gtime chronic ifne zrun pee mispipe"
    " logsave annotate-output stdsyslog asciinema ttyrec rlwrap ledit ccache scan-build intercept-build bear"
    # With another environment.
    " npx pnpx bunx uvx nix-shell dotenv dotenv-cli env-cmd cross-env cross-env-shell envchain envdir s6-envdir"
    " s6-cd with-contenv envconsul genv gstdbuf gnohup gnice gxargs gfind"
    # On another machine.
    " ssh sshpass autossh mosh rsh pssh parallel-ssh pdsh clush dsh ansible"
)
RUNNERS: Final = {
    **dict.fromkeys(_ALWAYS, frozenset[str]()),
    **dict.fromkeys(
        names(
            "pipx uv poetry pipenv hatch pdm rye pixi devbox conda mamba micromamba doppler op infisical teller dotenvx"
            " volta honcho foreman mr toolbox flatpak snap heroku buildah zellij"
        ),
        frozenset({"run"}),
    ),
    **dict.fromkeys(
        names(
            "bundle direnv asdf kubectl aws-vault chamber pyenv rbenv nodenv jenv goenv plenv nvm fnm lerna opam dune"
            " stack cabal composer gem tox ip crictl lxc incus multipass xdotool"
        ),
        frozenset({"exec"}),
    ),
    **dict.fromkeys(names("pnpm yarn"), frozenset({"exec", "dlx"})),
    **dict.fromkeys(names("mise rtx npm bun"), frozenset({"exec", "x"})),
    **dict.fromkeys(names("docker docker-compose podman-compose nerdctl"), frozenset({"exec", "run"})),
    **dict.fromkeys(names("limactl machinectl adb devenv"), frozenset({"shell"})),
    **dict.fromkeys(names("vagrant colima"), frozenset({"ssh"})),
    **dict.fromkeys(names("fly flyctl"), frozenset({"console"})),
    **dict.fromkeys(names("i3-msg swaymsg hyprctl"), frozenset({"exec"})),
    "podman": frozenset({"exec", "run", "unshare"}),
    "oc": frozenset({"exec", "rsh", "debug"}),
    "nix": frozenset({"run", "develop", "shell"}),
    "guix": frozenset({"shell", "environment", "time-machine"}),
    "flox": frozenset({"activate"}),
    "sops": frozenset({"exec-env", "exec-file"}),
    "pueue": frozenset({"add"}),
    "distrobox": frozenset({"enter"}),
    "repo": frozenset({"forall"}),
    "mix": frozenset({"cmd"}),
    "spack": frozenset({"build-env", "test-env"}),
    "corepack": frozenset({"npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg"}),
    "libtool": frozenset({"--mode=execute"}),
    "cargo": frozenset({"watch"}),
}
"""Programs that run another command, always or only behind one of these words."""
