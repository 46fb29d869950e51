package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// socket is one of a driver: connections to it are joined with streams that were forwarded to its port, one each, as
// `hostpathplugin --proxy-endpoint` does it.
type socket struct {
	path      string
	listener  *net.UnixListener
	connected chan net.Conn
	closed    chan struct{}
}

// open does what hostpathplugin does in its proxy mode, until somebody removes the socket.
func (p *pluginPod) open(arguments []string) error {
	flags := flag.NewFlagSet("hostpathplugin", flag.ContinueOnError)
	flags.Int("v", 0, "")
	inside := flags.String("endpoint", "", "")
	forwarded := flags.String("proxy-endpoint", "", "")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	target, err := url.Parse(*forwarded)
	if err != nil {
		return err
	}
	port, err := strconv.ParseInt(target.Port(), 10, 32)
	if err != nil {
		return err
	}
	opened, err := listen(p.socketPath(*inside))
	if err != nil {
		return err
	}
	go opened.serve(p)
	p.mutex.Lock()
	p.sockets[int32(port)] = opened
	close(p.opened)
	p.opened = make(chan struct{})
	p.mutex.Unlock()
	<-opened.closed
	return nil
}

func listen(path string) (*socket, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // it may be another one's by then
	return &socket{path: path, listener: listener, connected: make(chan net.Conn), closed: make(chan struct{})}, nil
}

// close ends what listens on a path of this machine, if anything of this pod does.
func (p *pluginPod) close(path string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for port, socket := range p.sockets {
		if socket.path == path {
			delete(p.sockets, port)
			socket.listener.Close()
			close(socket.closed)
		}
	}
}

// serve takes connections until the socket is closed.
func (s *socket) serve(pod *pluginPod) {
	if filepath.Base(filepath.Dir(s.path)) == "plugins_registry" {
		s.serveRegistration(pod)
		return
	}
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.join(connection)
	}
}

// join lets the next forwarded stream have a connection.
func (s *socket) join(connection net.Conn) {
	select {
	case s.connected <- connection:
	case <-s.closed:
		connection.Close()
	}
}

// forward joins a stream with the next connection, and returns when either of them ends.
func (s *socket) forward(stream io.ReadWriteCloser) error {
	received := &early{}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		io.Copy(received, stream)
	}()
	select {
	case connection := <-s.connected:
		select {
		case <-gone: // it was for a stream that lives
			go s.join(connection)
			return nil
		default:
		}
		defer connection.Close()
		go func() {
			<-gone
			connection.Close()
		}()
		if err := received.sendTo(connection); err != nil {
			return nil
		}
		io.Copy(stream, connection)
	case <-gone:
	case <-s.closed:
	}
	return nil
}

// early keeps what is written to it until it knows where to: a gRPC server speaks before it has a client.
type early struct {
	mutex sync.Mutex
	kept  bytes.Buffer
	to    io.Writer
}

func (e *early) Write(data []byte) (int, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.to == nil {
		return e.kept.Write(data)
	}
	return e.to.Write(data)
}

func (e *early) sendTo(writer io.Writer) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.to = writer
	_, err := e.kept.WriteTo(writer)
	return err
}

// serveRegistration answers the kubelet in the driver's words, with the path of the driver's socket as it is for the
// kubelet: a container's /var/lib/kubelet is that of its node, and this process sees those of all nodes.
func (s *socket) serveRegistration(pod *pluginPod) {
	dial := func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go s.join(theirs)
		return ours, nil
	}
	driver, err := grpc.NewClient("passthrough:driver", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return
	}
	defer driver.Close()
	server := grpc.NewServer()
	registerapi.RegisterRegistrationServer(server, &registrar{pod: pod, driver: registerapi.NewRegistrationClient(driver)})
	server.Serve(s.listener)
	server.Stop()
}

type registrar struct {
	registerapi.UnsafeRegistrationServer
	pod    *pluginPod
	driver registerapi.RegistrationClient
}

func (r *registrar) GetInfo(ctx context.Context, request *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	info, err := r.driver.GetInfo(ctx, request)
	if err == nil {
		info.Endpoint = r.pod.socketPath(info.Endpoint)
	}
	return info, err
}

func (r *registrar) NotifyRegistrationStatus(ctx context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return r.driver.NotifyRegistrationStatus(ctx, status)
}
