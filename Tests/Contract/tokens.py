"""Tokens as the embedding application would sign them, and as attackers would."""

import base64
import hmac
import json
import time

import jwt


def sign(secret, algorithm="HS256", headers=None, **claims) -> str:
    """Valid for an hour unless `exp` is given; a claim given as None is left out."""
    claims = {"exp": int(time.time()) + 3600} | claims
    # Not `jwt.encode`: it refuses the claims of the wrong type that attackers send.
    payload = json.dumps({name: value for name, value in claims.items() if value is not None}).encode()
    if algorithm == "HS256":
        return sign_bytes(secret, payload, headers)
    return jwt.PyJWS().encode(payload, secret, algorithm=algorithm, headers=headers)


def sign_bytes(secret: bytes, payload: bytes, headers=None) -> str:
    """HS256 by hand: the library refuses an empty secret, or a public key as the secret; attackers do not."""
    signed = f"{part({'alg': 'HS256', 'typ': 'JWT'} | (headers or {}))}.{part(payload)}"
    return f"{signed}.{part(hmac.digest(secret, signed.encode(), 'sha256'))}"


def part(value) -> str:
    """A part of a token, from JSON or as it is."""
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unsigned(algorithm, signature="", **claims) -> str:
    claims = {"exp": int(time.time()) + 3600} | claims
    return f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(claims)}.{signature}"
