"""client.properties of Kafka's own tools, as options of kafka-python's connection manager.

Names and meaning are those of Java's CommonClientConfigs, SaslConfigs and SslConfigs. What Python
cannot read (JKS) or what has no counterpart is refused by a sentence. Unknown keys are passed over,
as Java's clients do.
"""

import base64
import json
import re
import ssl
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from _dump_source import CopyError

from udfs.wire.errors import WireError
from udfs.wire.side_files.checkpoints import parse_properties

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM")
WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
JAAS_OPTION = re.compile(r"""([A-Za-z_.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;]+))""")
PEM = b"-----BEGIN"
TO_PEM = (
    "Python reads PEM only; convert it with keytool -importkeystore -srckeystore {0} "
    "-destkeystore store.p12 -deststoretype PKCS12, then openssl pkcs12 -in store.p12 -out "
    "store.pem, and name the PEM file in client.properties"
)
# A token is asked for anew so long before it ends, s.
TOKEN_MARGIN = 30.0


def read_properties(path: Path) -> dict[str, str]:
    """The file's keys and values. Raises CopyError."""
    try:
        return dict(parse_properties(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CopyError(f"the client properties {path} cannot be read: {why}") from error
    except WireError as error:
        raise CopyError(f"the client properties {path}: {error.reason}: {error.detail}") from error


def connection_options(properties: Mapping[str, str]) -> dict[str, Any]:
    """Options of KafkaConnectionManager; a token source is under `token`. Raises CopyError."""
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise CopyError(f"security.protocol={protocol} is none of {', '.join(PROTOCOLS)}")
    options: dict[str, Any] = {"security_protocol": protocol}
    if "client.id" in properties:
        options["client_id"] = properties["client.id"]
    if "request.timeout.ms" in properties:
        options["request_timeout_ms"] = _number(properties, "request.timeout.ms")
    if protocol.endswith("SSL"):
        options["ssl_context"] = _ssl_context(properties)
    if protocol.startswith("SASL"):
        options |= _sasl(properties)
    return options


def _number(properties: Mapping[str, str], name: str) -> int:
    if not properties[name].isdigit():
        raise CopyError(f"{name}={properties[name]} is not a number of ms")
    return int(properties[name])


# --- SASL -------------------------------------------------------------------------------------


def _sasl(properties: Mapping[str, str]) -> dict[str, Any]:
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        raise CopyError(f"sasl.mechanism={mechanism} is none of {', '.join(MECHANISMS)}")
    login = jaas_options(properties.get("sasl.jaas.config", ""))
    options: dict[str, Any] = {"sasl_mechanism": mechanism}
    if mechanism in WITH_PASSWORD:
        missing = [name for name in ("username", "password") if name not in login]
        if missing:
            raise CopyError(f"sasl.jaas.config names no {' and no '.join(missing)}")
        options["sasl_plain_username"] = login["username"]
        options["sasl_plain_password"] = login["password"]
    elif mechanism == "OAUTHBEARER":
        options["token"] = _token_source(properties, login)
    return options


def jaas_options(text: str) -> dict[str, str]:
    """Options of a JAAS login module: `module required key="value" …;`."""
    return {
        name: re.sub(r"\\(.)", r"\1", quoted) if quoted else single or bare
        for name, quoted, single, bare in JAAS_OPTION.findall(text)
    }


def _token_source(properties: Mapping[str, str], login: Mapping[str, str]) -> Callable[[], str]:
    """What gives an access token: a file, or the client credentials grant of an endpoint."""
    url = properties.get("sasl.oauthbearer.token.endpoint.url", "")
    if url.startswith("file:"):
        file = Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path))
        return lambda: file.read_text("utf-8").strip()
    if not url:
        raise CopyError(
            "OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url: an https address of the "
            "client credentials grant, or file:///… of a token"
        )
    names = "sasl.oauthbearer.client.credentials."
    identity = properties.get(f"{names}client.id", login.get("clientId"))
    secret = properties.get(f"{names}client.secret", login.get("clientSecret"))
    scope = properties.get("sasl.oauthbearer.scope", login.get("scope"))
    if identity is None or secret is None:
        raise CopyError("OAUTHBEARER needs clientId and clientSecret in sasl.jaas.config")
    return _Endpoint(url, identity, secret, scope)


class _Endpoint:
    """Asks a token endpoint (RFC 6749, 4.4), and again shortly before the token ends."""

    def __init__(self, url: str, identity: str, secret: str, scope: str | None) -> None:
        self._form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        pair = base64.b64encode(f"{identity}:{secret}".encode()).decode()
        self._url, self._headers = url, {"Authorization": f"Basic {pair}"}
        self._token, self._until = "", 0.0

    def __call__(self) -> str:
        """The token."""
        if time.monotonic() >= self._until:
            body = urllib.parse.urlencode(self._form).encode()
            request = urllib.request.Request(self._url, body, self._headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                told = json.load(answer)
            self._token = str(told["access_token"])
            lasts = float(told.get("expires_in", 300)) - TOKEN_MARGIN
            self._until = time.monotonic() + max(lasts, 0.0)
        return self._token


# --- TLS --------------------------------------------------------------------------------------


def _ssl_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if properties.get("ssl.endpoint.identification.algorithm", "https") == "":
        context.check_hostname = False
    try:
        _trust(context, properties)
        _identify(context, properties)
    except (ssl.SSLError, OSError) as error:
        raise CopyError(f"the certificates of client.properties cannot be used: {error}") from error
    return context


def _trust(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    """Whom to trust: what is given, and then nobody else."""
    inline = properties.get("ssl.truststore.certificates")
    location = properties.get("ssl.truststore.location")
    if inline is not None:
        context.load_verify_locations(cadata=inline)
    elif location is not None:
        context.load_verify_locations(cadata=_pem("ssl.truststore.location", location))
    else:
        context.load_default_certs()


def _identify(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    """The client's own certificate and key, where there is one."""
    password = properties.get("ssl.key.password") or properties.get("ssl.keystore.password")
    location = properties.get("ssl.keystore.location")
    chain, key = (properties.get(f"ssl.keystore.{n}") for n in ("certificate.chain", "key"))
    if location is not None:
        _pem("ssl.keystore.location", location)
        context.load_cert_chain(location, password=password)
    elif chain is not None and key is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{chain}\n{key}\n")
            file.flush()
            context.load_cert_chain(file.name, password=password)


def _pem(name: str, location: str) -> str:
    """Text of a PEM file. Raises CopyError for a keystore of Java."""
    content = Path(location).read_bytes()
    if PEM not in content:
        raise CopyError(f"{name}={location} is no PEM file: " + TO_PEM.format(location))
    return content.decode("utf-8", "replace")
