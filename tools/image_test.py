#!/usr/bin/env python3
"""What tools/image writes: read as docker and as an OCI tool reads it, and run with nothing else around it."""
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).parent / "image"
SOURCE = r"""
#include <fstream>
#include <iostream>
#include <unistd.h>
int main(int argc, char** argv) {
  std::ifstream roots("/usr/lib/ssl/cert.pem");
  std::string first;
  std::getline(roots, first);
  std::cout << getuid() << ' ' << argc << ' ' << first << ' ' << !access("/bin/sh", F_OK) << std::endl;
}
"""


def run(*command, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **kwargs)


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = Path(cls.folder.name)
        (cls.dir / "probe.cc").write_text(SOURCE)
        run("c++", "-o", cls.dir / "probe", cls.dir / "probe.cc", check=True)
        cls.first = cls.build("first.tar")
        cls.tar = tarfile.open(cls.dir / "first.tar")

    @classmethod
    def tearDownClass(cls):
        cls.tar.close()
        cls.folder.cleanup()

    @classmethod
    def build(cls, name, program="probe", tag="probe:1.2", *more):
        return run(sys.executable, "-B", TOOL, "--program", cls.dir / program, "--tag", tag, "--output", cls.dir / name, *more)

    def blob(self, name):
        return self.tar.extractfile(name).read()

    def test_same_bytes_every_time(self):
        self.assertEqual(self.first.returncode, 0, self.first.stderr)
        os.utime(self.dir / "probe", (1, 1))
        self.assertEqual(self.build("second.tar").returncode, 0)
        self.assertEqual((self.dir / "first.tar").read_bytes(), (self.dir / "second.tar").read_bytes())

    def test_docker_archive(self):
        [manifest] = json.loads(self.blob("manifest.json"))
        self.assertEqual(manifest["RepoTags"], ["probe:1.2"])
        config = json.loads(self.blob(manifest["Config"]))
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertEqual(config["config"]["Entrypoint"], ["/probe"])
        self.assertEqual(config["rootfs"]["diff_ids"], [digest(self.blob(name)) for name in manifest["Layers"]])

    def test_oci_layout(self):
        self.assertEqual(json.loads(self.blob("oci-layout")), {"imageLayoutVersion": "1.0.0"})
        [entry] = json.loads(self.blob("index.json"))["manifests"]
        self.assertEqual(entry["annotations"]["io.containerd.image.name"], "docker.io/library/probe:1.2")

        def follow(descriptor):
            data = self.blob("blobs/" + descriptor["digest"].replace(":", "/"))
            self.assertEqual((digest(data), len(data)), (descriptor["digest"], descriptor["size"]))
            return data
        manifest = json.loads(follow(entry))
        json.loads(follow(manifest["config"]))
        for layer in manifest["layers"]:
            follow(layer)

    def layer(self):
        [manifest] = json.loads(self.blob("manifest.json"))
        return tarfile.open(fileobj=io.BytesIO(self.blob(manifest["Layers"][0])))

    def test_layer_is_sorted_and_of_nobody(self):
        members = self.layer().getmembers()
        self.assertEqual([m.name for m in members], sorted(m.name for m in members))
        self.assertEqual({(m.uid, m.gid, m.mtime, m.uname) for m in members}, {(0, 0, 0, "")})
        self.assertFalse([m.name for m in members if m.name.startswith(("bin/", "tmp/")) or m.mode & 0o6000])
        folders = {m.name for m in members if m.isdir()}
        self.assertFalse([m.name for m in members if "/" in m.name and m.name.rpartition("/")[0] not in folders])

    def test_runs_with_nothing_else_around(self):
        root = self.dir / "root"
        self.layer().extractall(root)
        command = ["chroot", "--userspec=65532:65532", root, "/probe", "x"]
        if os.geteuid() != 0:  # a root of our own, who can be nobody else
            command = ["unshare", "--user", "--map-root-user", "chroot", root, "/probe", "x"]
        ran = run(*command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        user = "65532" if os.geteuid() == 0 else "0"
        self.assertEqual(ran.stdout, f"{user} 2 -----BEGIN CERTIFICATE----- 0\n", ran.stderr)

    def test_says_what_is_wrong(self):
        self.assertIn("more than 0.1", self.build("x.tar", "probe", "probe:1", "--limit", "0.1").stderr)
        self.assertIn("a tag reads name:version", self.build("x.tar", "probe", "probe").stderr)
        self.assertIn("not an executable file", self.build("x.tar", "probe.cc").stderr)
        self.assertFalse((self.dir / "x.tar").exists())


if __name__ == "__main__":
    unittest.main()
