"""A certificate authority for tests."""
import pathlib
import subprocess


class Authority:
    """Makes certificates in `directory`; `ca` is the file with the certificate of the authority."""

    def __init__(self, directory, name="Test CA"):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ca = str(self.directory / "ca.crt")
        self._key = self._new_key("ca")
        self._openssl("req", "-x509", "-new", "-key", self._key, "-subj", f"/CN={name}", "-days", "10", "-out", self.ca)

    def issue(self, name, alternatives, days=10):
        """Returns the paths (certificate, key) for `alternatives` such as "DNS:localhost,IP:127.0.0.1". If `days` is
        negative, the certificate has already expired."""
        before = ["faketime", "-f", f"{days - 1}d"] if days < 0 else []     # issued in the past, valid for one day
        key = self._new_key(name)
        request, extensions = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        certificate = str(self.directory / f"{name}.crt")
        extensions.write_text(f"subjectAltName={alternatives}\n")
        self._openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._key, "-CAcreateserial", "-days", abs(days),
                      "-extfile", extensions, "-out", certificate, before=before)
        return certificate, key

    def _new_key(self, name):
        path = str(self.directory / f"{name}.key")
        self._openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
        return path

    @staticmethod
    def _openssl(*words, before=()):
        subprocess.run([*before, "openssl", *map(str, words)], check=True, capture_output=True)
