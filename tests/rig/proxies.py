"""The proxies that `deploy/` has files for: the real programs, each with the shipped file, in front
of servers on this machine.

The shipped file is used as it is but for what belongs to a machine: ports, the name, certificates.
Where a place is not found in the file, the rig says so, or it would test something else.
"""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.rig import binaries
from tests.rig.http_proxy import PATIENCE_SECONDS, wait_until
from tests.rig.pooler import PLACES, wait_for_port

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = "localhost"
KINDS = ("nginx", "caddy")
PACKAGES = {"nginx": "nginx-light", "caddy": "caddy", "openssl": "openssl"}
AROUND_NGINX = """
{user}daemon off;
pid {folder}/pid;
error_log {folder}/log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
# It would put the root of its certificates among those that the whole machine believes.
AROUND_CADDY = """
{{
    admin off
    storage file_system {folder}
    skip_install_trust
    local_certs
    auto_https disable_redirects
    default_bind 127.0.0.1
    https_port {port}
}}
import {site}
"""


@dataclass(frozen=True)
class RunningProxy:
    """`authority` is the file of the certificate that its own is signed by."""

    kind: str
    url: str
    authority: Path
    folder: Path
    process: subprocess.Popen[bytes]

    def make_context(self) -> ssl.SSLContext:
        """For a client that believes its certificate, and no other."""
        return ssl.create_default_context(cafile=self.authority)


def find_program(name: str) -> str:
    found = shutil.which(name, path=PLACES)
    if found is None:
        raise binaries.RigError(f"{name} is missing: sudo apt-get install {PACKAGES[name]}")
    return found


@contextmanager
def run_proxy(kind: str, port: int, upstreams: Sequence[int]) -> Iterator[RunningProxy]:
    """On its own port of this machine, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="holdfast-proxy-") as name:
        folder = Path(name)
        prepare = {"nginx": prepare_nginx, "caddy": prepare_caddy}[kind]
        command, authority = prepare(folder, port, upstreams)
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(folder, upstreams),
            )
        try:
            wait_for_port(port, kind)
            wait_until(lambda: is_encrypted(port, authority))
            yield RunningProxy(kind, f"https://{NAME}:{port}", authority, folder, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_SECONDS)


def is_encrypted(port: int, authority: Path) -> bool:
    """Caddy listens before its certificate is made."""
    try:
        context = ssl.create_default_context(cafile=authority)
        with socket.create_connection((NAME, port), PATIENCE_SECONDS) as connection:
            context.wrap_socket(connection, server_hostname=NAME).close()
    except OSError:  # no file yet, or an alert
        return False
    return True


def environment(folder: Path, upstreams: Sequence[int]) -> dict[str, str]:
    """What the Caddyfile is filled in with; the home is for whatever else the program keeps."""
    return {
        "PATH": PLACES,
        "HOME": str(folder),
        "HOLDFAST_NAME": NAME,
        "HOLDFAST_SERVERS": " ".join(f"127.0.0.1:{upstream}" for upstream in upstreams),
    }


def prepare_nginx(
    folder: Path, port: int, upstreams: Sequence[int]
) -> tuple[list[str | Path], Path]:
    certificate, key = make_certificate(folder)
    site = (DEPLOY / "nginx.conf").read_text()
    first, second = upstreams
    for shipped, own in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("server_name holdfast.example.com;", f"server_name {NAME};"),
        ("/etc/ssl/holdfast/fullchain.pem", str(certificate)),
        ("/etc/ssl/holdfast/privkey.pem", str(key)),
        ("127.0.0.1:4790", f"127.0.0.1:{first}"),
        ("127.0.0.1:4791", f"127.0.0.1:{second}"),
    ):
        if site.count(shipped) != 1:
            raise binaries.RigError(f"deploy/nginx.conf does not have `{shipped}` once")
        site = site.replace(shipped, own)
    (folder / "site.conf").write_text(site)
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(AROUND_NGINX.format(user=user, folder=folder))
    program = find_program("nginx")
    return [program, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "log"], certificate


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Signed by itself; whoever believes this one file believes the server."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    usage = "keyUsage=critical,digitalSignature,keyCertSign"
    command = [find_program("openssl"), "req", "-x509", "-nodes", "-days", "2"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-addext", usage]
    command += ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def prepare_caddy(
    folder: Path, port: int, upstreams: Sequence[int]
) -> tuple[list[str | Path], Path]:
    """With the shipped file untouched, and certificates of its own authority."""
    text = AROUND_CADDY.format(folder=folder, port=port, site=DEPLOY / "Caddyfile")
    (folder / "Caddyfile").write_text(text)
    command = [find_program("caddy"), "run", "--adapter", "caddyfile"]
    authority = folder / "pki" / "authorities" / "local" / "root.crt"
    return [*command, "--config", folder / "Caddyfile"], authority
