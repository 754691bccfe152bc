"""Tokens as the embedding application would sign them, and as attackers would."""

import base64
import json
import time

import jwt


def sign(secret, algorithm="HS256", headers=None, **claims) -> str:
    """Valid for an hour unless `exp` is given; a claim given as None is left out."""
    claims = {"exp": int(time.time()) + 3600} | claims
    present = {name: value for name, value in claims.items() if value is not None}
    # Not `jwt.encode(payload)`: it refuses the claims of the wrong type that attackers send.
    payload = json.dumps(present, separators=(",", ":")).encode()
    return jwt.PyJWS().encode(payload, secret, algorithm=algorithm, headers=headers)


def part(value) -> str:
    """A part of a token, from JSON or as it is."""
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unsigned(algorithm, signature="", **claims) -> str:
    claims = {"exp": int(time.time()) + 3600} | claims
    return f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(claims)}.{signature}"
