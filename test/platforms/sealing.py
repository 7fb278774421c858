"""Inserts thousands of accounts into the database with sealed tokens (src/vault/seal.h); `platform connect` would take minutes."""
import ctypes
import ctypes.util
import os
import struct

APIS = ("tiktok", "instagram", "instagram-facebook", "youtube", "facebook", "pinterest")
ACCESS, REFRESH = 0, 1


class Sealer:
    """Encrypts with the first key of the key file."""

    def __init__(self, key_file):
        name = ctypes.util.find_library("sodium")
        if not name:
            raise OSError("libsodium is not installed")
        self._sodium = ctypes.CDLL(name)
        lines = [line for line in open(key_file, encoding="ascii").read().splitlines() if line and not line.startswith("#")]
        id, key = lines[0].split()
        self._id, self._key = bytes.fromhex(id), bytes.fromhex(key)

    def seal(self, author_row, api, account, column, text):
        plain = text.encode()
        associated_data = b"viewtally token\0" + struct.pack(">qBB", author_row, APIS.index(api), column) + account.encode()
        nonce = os.urandom(24)
        out = ctypes.create_string_buffer(len(plain) + 16)
        length = ctypes.c_ulonglong()
        self._sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
            out, ctypes.byref(length), plain, ctypes.c_ulonglong(len(plain)), associated_data, ctypes.c_ulonglong(len(associated_data)), None, nonce, self._key)
        return self._id + nonce + out.raw[:length.value]


def insert_accounts(instance, accounts, now_ms):
    """Inserts `accounts`: [(author's UUID, api, account id, tokens in the format of `platform connect`), …]"""
    sealer = Sealer(instance.settings["secrets"]["key_file"])
    with instance.write_transaction() as execute:
        rows = dict(execute("SELECT uuid, id FROM authors"))
        for uuid, api, account, tokens in accounts:
            row = rows[uuid]
            refresh = tokens.get("refresh_token")
            access_sealed = sealer.seal(row, api, account, ACCESS, tokens["access_token"])
            refresh_sealed = sealer.seal(row, api, account, REFRESH, refresh) if refresh else None
            expiries = [now_ms + tokens[name] * 1000 if tokens.get(name) else None for name in ("expires_in", "refresh_expires_in")]
            execute("INSERT INTO platform_credentials (author_id, api, account_id, scopes, access_sealed, refresh_sealed, access_expires_at, "
                    "refresh_expires_at, obtained_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    row, APIS.index(api), account, tokens.get("scope", ""), access_sealed, refresh_sealed, *expiries, now_ms)
