package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// pluginPod is a pod of test/e2e/testing-manifests/dra/dra-test-driver-proxy.yaml. The drivers of the tests run in the
// tests' own process; such a pod has the node's plugin and CDI directories, opens sockets there and forwards what
// connects to them. Here this program does what is executed in such a pod, in the directory of the node's kubelet.
type pluginPod struct {
	node    string // directory of its node's kubelet
	mutex   sync.Mutex
	sockets map[int32]*socket // by the port that the pod would have
	opened  chan struct{}     // closed, and made anew, when there is another socket
}

func newPluginPod(node string) *pluginPod {
	return &pluginPod{node: node, sockets: map[int32]*socket{}, opened: make(chan struct{})}
}

// PortForward joins the stream with the next connection to the socket that is forwarded through the port.
func (p *pluginPod) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	for {
		p.mutex.Lock()
		socket, opened := p.sockets[port], p.opened
		p.mutex.Unlock()
		if socket != nil {
			return socket.forward(stream)
		}
		select {
		case <-opened:
		case <-time.After(streamCreation):
			return fmt.Errorf("nothing listens on port %d", port)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// The commands of test/e2e/dra/utils/deploy.go and test/e2e/storage/drivers/proxy that go through a shell.
var (
	writesFile = regexp.MustCompile(`(?s)^base64 -d >'([^']+)' <<EOF\n(.*)\nEOF$`)
	listsFiles = regexp.MustCompile(`^ls -1d (\S+) 2>/dev/null \|\| true$`)
)

// ExecInContainer does what a command of the tests would do in the pod.
func (p *pluginPod) ExecInContainer(ctx context.Context, _, _, _ string, command []string, _ io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	name, arguments := command[0], command[1:]
	inside := command[len(command)-1]
	last := p.path(inside)
	switch {
	case name == "/hostpathplugin":
		return p.open(arguments)
	case name == "rm":
		p.close(p.socketPath(inside))
		return errors.Join(os.RemoveAll(last), os.RemoveAll(p.socketPath(inside)))
	case name == "mv" && len(arguments) == 2:
		return os.Rename(p.path(arguments[0]), last)
	case name == "mkdir":
		return os.MkdirAll(last, 0o755)
	case name == "cat":
		content, err := os.ReadFile(last)
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	case name == "sh" && len(arguments) == 2:
		return p.shell(arguments[1], out)
	}
	return unknown(command)
}

func (p *pluginPod) shell(command string, out io.Writer) error {
	if found := writesFile.FindStringSubmatch(command); found != nil {
		content, err := base64.StdEncoding.DecodeString(found[2])
		if err != nil {
			return err
		}
		return os.WriteFile(p.path(found[1]), content, 0o644)
	}
	if found := listsFiles.FindStringSubmatch(command); found != nil {
		paths, err := filepath.Glob(p.path(found[1]))
		for _, path := range paths {
			fmt.Fprintln(out, p.inside(path))
		}
		return err
	}
	return unknown([]string{"sh", "-c", command})
}

func unknown(command []string) error {
	return fmt.Errorf("upstream-e2e stands in for this pod and does not know the command %q; see e2e/upstream/module/cmd/upstream-e2e/pluginpods.go", command)
}

// Where the pod mounts directories of its node, and what they are below that of a kubelet of ours.
var mounts = []struct{ inside, node string }{{"/var/lib/kubelet/", "."}, {"/cdi/", "cdi"}}

// path is where a path of the pod lies on this machine.
func (p *pluginPod) path(inside string) string {
	return onNode(p.node, inside)
}

// onNode is where what such a pod sees at a path lies. It stays in the node's directory whatever the path is.
func onNode(node, path string) string {
	clean := filepath.Clean("/" + path)
	for _, mount := range mounts {
		if rest, ok := strings.CutPrefix(clean, mount.inside); ok {
			return filepath.Join(node, mount.node, rest)
		}
	}
	return filepath.Join(node, "elsewhere", clean)
}

// What the address of a unix socket holds, without the NUL at its end.
const socketBytes = 107

// socketPath is where a socket of the pod lies on this machine: below a shorter name where a path of its own length
// there, which is as long as clusters' directories are, would be too long.
func (p *pluginPod) socketPath(inside string) string {
	path := p.path(inside)
	if len(path) <= socketBytes {
		return path
	}
	return filepath.Join(p.node, "plugins", fmt.Sprintf("%.6x.sock", sha256.Sum256([]byte(path))))
}

// inside is the path in the pod of one that path gave.
func (p *pluginPod) inside(path string) string {
	relative, _ := strings.CutPrefix(path, p.node+"/")
	if cdi, ok := strings.CutPrefix(relative, "cdi/"); ok {
		return "/cdi/" + cdi
	}
	return "/var/lib/kubelet/" + relative
}
