"""`holdfast exec`: its options; what it does is in `exec_session.py`."""

from typing import Any

import click

from holdfast.cli.session_options import session_options

__all__ = ["command"]


@click.command("exec")
@click.option("--events", is_flag=True, help="Also write progress, decisions with their trace, and state changes.")
@click.option("--ask", type=click.Choice(["stdio"]), help="Write questions and forms out and wait for the answers.")
@session_options
def command(**given: Any) -> int:
    """Run tool calls from JSON lines on standard input; write one JSON line for each reply, in call order.

    \b
    In:  {"type":"tool_use","id":"1","name":"Read","input":{"file_path":"README.md"}}
         {"type":"end_turn"}   {"type":"interrupt"}   {"type":"background","tool_use_id":"1"}
         {"type":"permission_response","request_id":"…","behavior":"allow"}
         {"type":"form_response","request_id":"…","action":"accept","values":{}}
    Out: {"type":"tool_result","tool_use_id":"1","content":"…","is_error":false,"duration_ms":0.4}
    """  # noqa: D301 - click wants the character itself
    from holdfast.cli.exec_session import run_exec  # noqa: PLC0415 - help and wrong use need none of it

    return run_exec(given)
