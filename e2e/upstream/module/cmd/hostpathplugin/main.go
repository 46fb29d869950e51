// Command hostpathplugin stands in for the program of this name in the image of csi-driver-host-path, as far as
// Kubernetes' tests of DRA use it: as a proxy. Its pod opens a socket on the node, and who connects to that is joined
// with the next connection to a TCP port of the pod, which the tests forward to the driver in their own process.
package main

import (
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"strings"
)

func main() {
	flag.Int("v", 0, "Taken and not used: everything is logged.")
	node := flag.String("endpoint", "", "Path of the unix socket to open, with or without unix://.")
	forwarded := flag.String("proxy-endpoint", "", "Where the other side connects: tcp://HOST:PORT.")
	flag.Parse()
	if err := serve(strings.TrimPrefix(*node, "unix://"), *forwarded); err != nil {
		log.Fatal("hostpathplugin: ", err)
	}
}

// serve pairs connections until one of the sockets fails; nothing is read from a side before it has its other one.
func serve(path, forwarded string) error {
	target, err := url.Parse(forwarded)
	if err != nil {
		return err
	}
	if path == "" || target.Scheme != "tcp" {
		return errors.New("it is a proxy only: give it --endpoint=PATH and --proxy-endpoint=tcp://HOST:PORT")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was killed
		return err
	}
	onNode, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	inPod, err := net.Listen("tcp", target.Host)
	if err != nil {
		return err
	}
	for {
		first, err := onNode.Accept()
		if err != nil {
			return err
		}
		second, err := inPod.Accept()
		if err != nil {
			return err
		}
		log.Printf("joined a connection to %s with one to %s", path, target.Host)
		go pass(first, second)
		go pass(second, first)
	}
}

// pass ends both directions when one has ended: a gRPC connection has no use for half of itself.
func pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	io.Copy(to, from)
}
