"""Who we are at Amazon: keys from the environment, else from its own library; and the signature of a request."""

import hashlib
import hmac
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from holdfast.models.errors import ModelError

__all__ = ["AwsKeys", "aws_keys", "signed_headers"]

_SERVICE = "bedrock"
_NO_KEYS = (
    "There are no credentials for Amazon Bedrock. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID with "
    "AWS_SECRET_ACCESS_KEY; for profiles, single sign-on and roles install the extra: pip install 'holdfast[bedrock]'."
)


class AwsKeys(NamedTuple):
    """What a request is signed with."""

    access: str
    secret: str
    token: str = ""


def aws_keys(environ: Mapping[str, str]) -> AwsKeys:
    """The keys of now. Roles and profiles are asked through botocore, where that is installed.

    Raises:
        ModelError: There are none.
    """
    access, secret = environ.get("AWS_ACCESS_KEY_ID", "").strip(), environ.get("AWS_SECRET_ACCESS_KEY", "").strip()
    if access and secret:
        return AwsKeys(access, secret, environ.get("AWS_SESSION_TOKEN", "").strip())
    try:
        library: Any = import_module("botocore.session")  # an extra
    except ImportError as error:
        raise ModelError(_NO_KEYS, "auth") from error
    try:
        found: Any = library.Session(profile=environ.get("AWS_PROFILE") or None).get_credentials()
        frozen: Any = None if found is None else found.get_frozen_credentials()
    except Exception as error:
        raise ModelError(f"The credentials for Amazon Bedrock could not be read: {error}", "auth") from error
    if frozen is None:
        raise ModelError(_NO_KEYS, "auth")
    return AwsKeys(str(frozen.access_key), str(frozen.secret_key), str(frozen.token or ""))


def signed_headers(url: str, body: bytes, keys: AwsKeys, region: str, *, now_s: float | None = None) -> dict[str, str]:
    """The headers that a POST needs besides its own: date, token and signature (version 4)."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now_s))
    parts = urlsplit(url)
    signed = {"host": parts.netloc, "x-amz-date": stamp}
    if keys.token:
        signed["x-amz-security-token"] = keys.token
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
    digest = hashlib.sha256(body).hexdigest()
    canonical = f"POST\n{quote(parts.path, safe='/-_.~')}\n{parts.query}\n{lines}\n{names}\n{digest}"
    scope = f"{stamp[:8]}/{region}/{_SERVICE}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{keys.secret}".encode()
    for word in (stamp[:8], region, _SERVICE, "aws4_request"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    del signed["host"]  # the client sends it
    credential = f"Credential={keys.access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "authorization": f"AWS4-HMAC-SHA256 {credential}"}
