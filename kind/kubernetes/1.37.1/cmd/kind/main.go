// Command kind is kind's own, pinned by this module's go.mod.
package main

import (
	"sigs.k8s.io/kind/cmd/kind/app"
)

func main() {
	app.Main()
}
