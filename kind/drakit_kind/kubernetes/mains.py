"""The Go program of each binary that drakit can build, as one table for all versions.

A component's command line lies in an importable package, so its ``main.go`` is a few lines around it. They are written
by ``drakit_kind.kubernetes.pin`` and committed with the go.mod they belong to; nobody edits them.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Main:
    """One ``main.go``: what it is, its imports (as in Go, without quotes) and the body of ``func main``."""

    is_what: str
    imports: tuple[str, ...]
    body: str


# Of CronJobs: the API server checks them and the controller manager keeps to them, also in an image that has none.
_TIME_ZONES = "_ time/tzdata"
# What every component registers by importing: --logging-format=json, and the client's and its own figures in /metrics.
_REGISTERED = (
    "_ k8s.io/component-base/logs/json/register",
    "_ k8s.io/component-base/metrics/prometheus/clientgo",
    "_ k8s.io/component-base/metrics/prometheus/version",
)
_OF_KUBERNETES = "Kubernetes' own, pinned by this module's go.mod"


def _component(package: str, constructor: str, *standard: str) -> Main:
    imports = ("os", *standard, "k8s.io/component-base/cli", *_REGISTERED, package)
    return Main(_OF_KUBERNETES, imports, f"os.Exit(cli.Run(app.{constructor}))")


def _of_containerd(name: str, expression: str, *imports: str) -> Main:
    body = f"""\
        if err := {expression}.Run(context.Background(), os.Args); err != nil {{
            fmt.Fprintln(os.Stderr, "{name}:", err)
            os.Exit(1)
        }}
        """
    return Main("containerd's own, pinned by this module's go.mod", ("context", "fmt", "os", *imports), body)


_KUBECTL_BODY = """\
    if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
        util.CheckErr(err)
    }
    """

_PAUSE_BODY = """\
    signals := make(chan os.Signal, 8)
    signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
    for received := range signals {
        if received != syscall.SIGCHLD {
            return
        }
        for {
            if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
                break
            }
        }
    }
    """

# What a Kubernetes release itself consists of: pinned for every version, never taken from another one.
OF_KUBERNETES = {
    "kube-apiserver": _component("k8s.io/kubernetes/cmd/kube-apiserver/app", "NewAPIServerCommand()", _TIME_ZONES),
    "kube-controller-manager": _component(
        "k8s.io/kubernetes/cmd/kube-controller-manager/app", "NewControllerManagerCommand()", _TIME_ZONES
    ),
    "kube-scheduler": _component("k8s.io/kubernetes/cmd/kube-scheduler/app", "NewSchedulerCommand()"),
    "kubectl": Main(
        _OF_KUBERNETES,
        (
            "_ k8s.io/client-go/plugin/pkg/client/auth",
            "k8s.io/component-base/cli",
            "k8s.io/kubectl/pkg/cmd",
            "k8s.io/kubectl/pkg/cmd/util",
        ),
        _KUBECTL_BODY,
    ),
    "kubelet": _component("k8s.io/kubernetes/cmd/kubelet/app", "NewKubeletCommand(context.Background())", "context"),
    "kube-proxy": _component("k8s.io/kubernetes/cmd/kube-proxy/app", "NewProxyCommand()"),
    "kubeadm": Main(
        _OF_KUBERNETES,
        ("k8s.io/kubernetes/cmd/kubeadm/app", "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"),
        "errors.HandleError(app.Run())",
    ),
}

# Other programs that a cluster needs; they work with every version and are pinned with the newest one.
BESIDES = {
    "etcd": Main(
        "etcd's own, pinned by this module's go.mod",
        ("os", "go.etcd.io/etcd/server/v3/etcdmain"),
        "etcdmain.Main(os.Args)",
    ),
    "containerd": _of_containerd(
        "containerd",
        "command.App()",
        "_ github.com/containerd/containerd/v2/cmd/containerd/builtins",
        "github.com/containerd/containerd/v2/cmd/containerd/command",
    ),
    "containerd-shim-runc-v2": Main(
        "containerd's own, pinned by this module's go.mod",
        (
            "context",
            "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager",
            "_ github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task/plugin",
            "github.com/containerd/containerd/v2/pkg/shim",
        ),
        'shim.RunShim(context.Background(), manager.NewShimManager("io.containerd.runc.v2"))',
    ),
    "ctr": _of_containerd("ctr", "app.New()", "github.com/containerd/containerd/v2/cmd/ctr/app"),
    "dra-test-driver": Main(
        "the DRA driver of Kubernetes' own end-to-end tests, pinned by this module's go.mod",
        ("os", "k8s.io/component-base/cli", "k8s.io/kubernetes/test/e2e/dra/test-driver/app"),
        "os.Exit(cli.Run(app.NewCommand()))",
    ),
    "kind": Main("kind's own, pinned by this module's go.mod", ("sigs.k8s.io/kind/cmd/kind/app",), "app.Main()"),
    "pause": Main(
        "what holds a pod's namespaces open: it reaps what the pod's containers leave, until it is told to end",
        ("os", "os/signal", "syscall"),
        _PAUSE_BODY,
    ),
}

# CNI plugins are commands already; the newest version's go.mod has them as tools.
_PLUGINS = "github.com/containernetworking/plugins/plugins"
PLUGINS = {
    "bridge": f"{_PLUGINS}/main/bridge",
    "ptp": f"{_PLUGINS}/main/ptp",
    "host-local": f"{_PLUGINS}/ipam/host-local",
    "loopback": f"{_PLUGINS}/main/loopback",
    "portmap": f"{_PLUGINS}/meta/portmap",
}

# All names, in the order in which they are built: the first one compiles most of what the others share.
NAMES = (*OF_KUBERNETES, *BESIDES, *PLUGINS)


def source(name: str) -> str:
    """Write the Go source of ``cmd/<name>/main.go``, formatted as by gofmt."""
    main = (OF_KUBERNETES | BESIDES)[name]
    groups = [sorted(group, key=_path) for group in (_standard(main.imports), _others(main.imports)) if group]
    imports = "\n\n".join("\n".join(_import_line(text) for text in group) for group in groups)
    body = textwrap.indent(textwrap.dedent(main.body).strip("\n"), "    ")
    text = (
        f"// Command {name} is {main.is_what}.\npackage main\n\nimport (\n{imports}\n)\n\nfunc main() {{\n{body}\n}}\n"
    )
    return re.sub(r"^(?: {4})+", lambda spaces: "\t" * (len(spaces.group()) // 4), text, flags=re.MULTILINE)


def _path(text: str) -> str:
    return text.removeprefix("_ ")


def _standard(imports: tuple[str, ...]) -> list[str]:
    return [text for text in imports if "." not in _path(text).partition("/")[0]]


def _others(imports: tuple[str, ...]) -> list[str]:
    return [text for text in imports if "." in _path(text).partition("/")[0]]


def _import_line(text: str) -> str:
    blank = "_ " if text.startswith("_ ") else ""
    return f'    {blank}"{_path(text)}"'
