"""A real SMTP server on loopback that misbehaves on command.

Each message it takes becomes `NNNNNN.eml` in the folder, with its envelope in `NNNNNN.json` beside it; the envelope is
put in place last, so that whoever sees it can read the message. On standard output it says `listening HOST:PORT` once,
and `stored N` after each message. It has no rule against duplicates: what comes twice is stored twice.

The local part of a recipient asks for a fault; what follows a `+` only tells recipients apart:

refuse-NNN, defer-NNN    RCPT is answered with that code, each time
greylist-once            RCPT is answered with 451 once per recipient, then accepted
drop-at-data             the connection is closed in answer to DATA: nothing was sent
data-NNN                 the final dot is answered with that code; nothing is stored
drop-after-dot           the message is stored, then the connection is closed without an answer, each time
drop-after-dot-once      the same once per recipient, then answered
slow-dot-N               the message is stored, then the final dot is answered after N milliseconds
"""

import argparse
import asyncio
import json
import os
import re
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


def fault_of(address):
    """The local part without what follows a plus."""
    return address.rsplit("@", 1)[0].split("+", 1)[0]


class OncePerRecipient:
    """Remembers which recipients have had their fault."""

    def __init__(self):
        self.had = set()

    def first(self, address):
        before = address in self.had
        self.had.add(address)
        return not before


class Mailbox:
    """Stores messages, answers with faults: the handler of every connection."""

    def __init__(self, folder, always_tls):
        self.folder = folder
        self.always_tls = always_tls
        self.stored = 0
        self.greylisted = OncePerRecipient()
        self.dropped = OncePerRecipient()

    async def handle_RCPT(self, server, session, envelope, address, options):
        fault = fault_of(address)
        refusal = re.fullmatch(r"(?:refuse|defer)-(\d{3})", fault)
        if refusal:
            return f"{refusal[1]} {refusal[1][0]}.1.1 refused on command"
        if fault == "greylist-once" and self.greylisted.first(address):
            return "451 4.7.1 greylisted, try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        for address in envelope.rcpt_tos:
            refusal = re.fullmatch(r"data-(\d{3})", fault_of(address))
            if refusal:
                return f"{refusal[1]} {refusal[1][0]}.6.0 refused on command"
        number = self.store(session, envelope)
        for address in envelope.rcpt_tos:
            fault = fault_of(address)
            slow = re.fullmatch(r"slow-dot-(\d+)", fault)
            if slow:
                await asyncio.sleep(int(slow[1]) / 1000)
            once = fault == "drop-after-dot-once" and self.dropped.first(address)
            if once or fault == "drop-after-dot":
                hang_up(server)
        return f"250 2.0.0 stored as {number}"

    def store(self, session, envelope):
        self.stored += 1
        name = os.path.join(self.folder, f"{self.stored:06}")
        described = {
            "from": envelope.mail_from or "",
            "rcpt": envelope.rcpt_tos,
            "helo": session.host_name or "",
            "tls": self.always_tls or session.ssl is not None,
            "login": session.auth_data,
        }
        with open(f"{name}.eml", "wb") as file:
            file.write(envelope.original_content)
        with open(f"{name}.tmp", "w", encoding="utf-8") as file:
            json.dump(described, file)
        os.replace(f"{name}.tmp", f"{name}.json")
        say(f"stored {self.stored}")
        return self.stored


class FaultySMTP(SMTP):
    """The one fault that no handler hook can play: hanging up before the message."""

    async def smtp_DATA(self, arg):
        if any(fault_of(address) == "drop-at-data" for address in self.envelope.rcpt_tos):
            hang_up(self)
        await super().smtp_DATA(arg)


def hang_up(server):
    """Closes the connection at once; the cancellation ends the coroutine that serves it."""
    server.transport.abort()
    raise asyncio.CancelledError


def say(line):
    print(line, flush=True)


def authenticator(user, password):
    def check(server, session, envelope, mechanism, given):
        right = isinstance(given, LoginPassword) and given == LoginPassword(user.encode(), password.encode())
        return AuthResult(success=right, auth_data=user if right else None, handled=right)

    return check


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", choices=["none", "starttls", "implicit"], default="none")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--user")
    parser.add_argument("--password", default="")
    return parser.parse_args()


async def serve(args):
    context = None
    if args.tls != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.certificate, args.key)
    starttls = args.tls == "starttls"
    options = {"hostname": "localhost", "enable_SMTPUTF8": True, "auth_require_tls": False}
    if starttls:
        options.update(tls_context=context, require_starttls=True)
    if args.user:
        options.update(auth_required=True, authenticator=authenticator(args.user, args.password))
    mailbox = Mailbox(args.folder, always_tls=args.tls == "implicit")
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: FaultySMTP(mailbox, loop=loop, **options),
        host="127.0.0.1",
        port=args.port,
        ssl=None if starttls else context,
    )
    host, port = server.sockets[0].getsockname()
    say(f"listening {host}:{port}")
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(serve(arguments())))
