// Command chart makes the Helm chart of Lintel from deploy/: chart -version 1.2.3 -out dist writes
// dist/lintel-1.2.3.tgz. The same commit gives the same bytes.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/lintel-bot/lintel/deploy/chart"
)

func main() {
	version := flag.String("version", "", "of the chart and of the image, with or without a v in front")
	deploy := flag.String("deploy", "deploy", "the folder with the kustomizations")
	out := flag.String("out", "dist", "the folder for the package")
	modified := flag.Int64("modified", 0, "the time of its files, in seconds since 1970: that of the commit")
	flag.Parse()
	if err := run(*deploy, strings.TrimPrefix(*version, "v"), *out, time.Unix(*modified, 0)); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(deploy, version, out string, modified time.Time) error {
	if v, err := semver.StrictNewVersion(version); err != nil || v.Metadata() != "" { // which no tag of an image has
		return fmt.Errorf("-version %q is no version such as 1.2.3", version)
	}
	files, err := chart.Build(deploy, version)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := errors.Join(chart.Pack(&packed, files, modified), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	name := filepath.Join(out, chart.Name+"-"+version+".tgz")
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Println(name)
	return nil
}
