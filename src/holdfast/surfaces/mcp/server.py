"""The MCP server, the same for both transports: lists what is offered, and runs a verb for a call.

A room is offered by one file beside this one with a tuple `TOOLS`, named in `ROOMS`. No room is
loaded before the first list, and no store before the first call: an agent waits for the handshake.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from holdfast import __version__
from holdfast.surfaces.mcp.prose import prose

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from holdfast.app import App
    from holdfast.surfaces.mcp.answer import Answer
    from holdfast.surfaces.mcp.call import Call
    from holdfast.surfaces.mcp.tool import Operation, Tool
    from holdfast.usecases.which_session import Caller, Callers, OwnSessions

    Context = ServerRequestContext[Any, Any]

# Who serves a request, given what the transport has of it (an HTTP request, or None): a server with
# several developers answers with the app of the one who asks.
AppFor = Callable[[Any], "Awaitable[App]"]

# Who decides whether the exchange is offered to the one who asks.
IsOn = Callable[[Any], "Awaitable[bool]"]

# Raises where the one who asks may not do what needs this scope. Over pipes everything is allowed.
CheckScope = Callable[[Any, str], None]

ROOMS = (
    *("sessions", "context_sets", "memories", "repo_context", "conversations"),
    *("published_contexts", "team_state", "coordination"),
)
CONNECTION = "mcp-session-id"
INTRODUCTIONS = ("initialize", "server/discover")
MOST_CONNECTIONS = 1000
COMPLETIONS = 100  # the protocol's limit


def assume_exists(path: str) -> bool:
    """For a server whose clients are elsewhere: it has no files of theirs, and hides its own."""
    return True


def make_server(
    app_for: AppFor,
    *,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    process: ServerProcess | None = None,
    exists: Callable[[str], bool] = assume_exists,
    is_exchange_on: IsOn | None = None,
    check_scope: CheckScope | None = None,
    hides_places: bool = False,
) -> Server[Any]:
    """Make a server. `environment`, `folder` and `process` are those of a client on this machine.

    `exists` tells which files are gone, as far as the caller may know. `is_exchange_on` is for a
    server that finds it out without its store. `hides_places` where callers are on other machines.
    """
    handler = CallHandler(app_for, environment, folder, process or ServerProcess(), exists)
    handler.is_on = is_exchange_on or handler.is_on
    handler.check_scope = check_scope or handler.check_scope
    handler.hides_places = hides_places
    server: Server[Any] = Server(
        "holdfast",
        version=__version__,
        title="Holdfast",
        instructions=write_instructions(with_team=False),
        get_tool_input_schema=_find_input_schema,
        on_list_tools=handler.list_tools,
        on_call_tool=handler.call_tool,
        on_list_prompts=_list_prompts,
        on_get_prompt=handler.get_prompt,
        on_completion=handler.complete,
        on_list_resources=handler.list_resources,
        on_list_resource_templates=_list_resource_templates,
        on_read_resource=handler.read_resource,
    )
    server.middleware.append(handler.add_instructions)
    return server


class ServerProcess:
    """A server that one client has for itself, among the processes of the machine."""

    def __init__(self, name: str | None = None, ancestors: Sequence[str] = ()):
        self.name = name
        self.ancestors = ancestors
        self.opened: list[str] = []  # the sessions that end with it


class CallHandler:
    """Where calls arrive."""

    def __init__(
        self,
        app_for: AppFor,
        environment: Mapping[str, str] | None,
        folder: str | None,
        process: ServerProcess,
        exists: Callable[[str], bool],
    ):
        self.app_for = app_for
        self.environment = environment
        self.folder = folder
        self.process = process
        self.exists = exists
        self._by_connection: dict[tuple[str, str], OwnSessions] = {}
        self.starting = anyio.Lock()
        self.is_on: IsOn = self._ask_store
        self.check_scope: CheckScope = _allow_everything
        self.hides_places = False

    async def _ask_store(self, request: Any) -> bool:
        """No list fails because of it: what cannot be found out is not offered."""
        try:
            app = await self.app_for(request)
            from holdfast.usecases.exchange import is_exchange_on

            return await is_exchange_on(app)
        except Exception:  # the call that needs the store reports it
            return False

    def _check_reading(self, request: Any) -> None:
        from holdfast.identity.scopes import READ

        self.check_scope(request, READ)

    async def list_tools(self, context: Context, params: object) -> types.ListToolsResult:
        with_team = await self.is_on(context.request)
        return types.ListToolsResult(tools=list(_describe_tools(with_team)))

    async def list_resources(self, context: Context, params: object) -> types.ListResourcesResult:
        return _list_resources(await self.is_on(context.request))

    async def add_instructions(self, ctx: Context, call_next: Any) -> Any:
        """Of the team, for a client that introduces itself: they are not the same for everyone."""
        result = await call_next(ctx)
        if ctx.method in INTRODUCTIONS and await self.is_on(ctx.request):
            result["instructions"] = write_instructions(with_team=True)
        return result

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = _load_tools().get(params.name)
        if tool is None or (tool.is_of_team and not await self._ask_store(context.request)):
            offered = _list_offered(await self._ask_store(context.request))
            known = ", ".join(each.name for each in offered)
            problem = f"Tool {ascii(params.name)[:80]} is unknown. Known: {known}."
            raise MCPError(types.INVALID_PARAMS, problem)
        answer = await self._run_tool(tool, context, params.arguments or {})
        text = types.TextContent(type="text", text=answer.to_text())
        return types.CallToolResult(
            content=[text],
            structured_content=answer.to_dict(),
            is_error=answer.is_error,
        )

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        from holdfast.surfaces.mcp import prompts

        given = params.arguments or {}
        try:
            self._check_reading(context.request)
            prompts.check_prompt(params.name, given)
            session_id = prompts.find_session_argument(given)
            text = await self._write_prompt(context, params.name, session_id)
        except Exception as error:
            raise _as_protocol_error(error, self._refuse(error)) from None
        content = types.TextContent(type="text", text=text)
        message = types.PromptMessage(role="user", content=content)
        return types.GetPromptResult(messages=[message])

    async def _write_prompt(self, context: Context, name: str, session_id: str | None) -> str:
        from holdfast.surfaces.mcp import prompts

        is_stop = name == "workspace-stop"
        with_team = is_stop and await self.is_on(context.request)
        if is_stop and not session_id:  # the one that needs no store
            return prompts.stop_text(with_team=with_team)
        app = await self.app_for(context.request)
        if is_stop and session_id:
            named = await prompts.find_named(app, session_id)
            return prompts.stop_text(named, with_team=with_team)
        caller = self._identify_caller(context, app)
        return await prompts.resume_text(app, caller, session_id, self.exists)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        from holdfast.surfaces.mcp import resources

        uri = str(params.uri)
        try:
            self._check_reading(context.request)
            app = await self.app_for(context.request)
            caller = self._identify_caller(context, app)
            with_team = uri == resources.CONTEXTS and await self._ask_store(context.request)
            if with_team:
                text = await resources.read_contexts(app, caller)
            else:
                text = await resources.read(app, caller, uri)
        except Exception as error:
            raise _as_protocol_error(error, self._refuse(error), uri=uri) from None
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def complete(
        self, context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Names of sessions for a prompt's session argument; nothing else is completed."""
        from holdfast.errors import HoldfastError

        names: list[str] = []
        if params.ref.type == "ref/prompt" and params.argument.name == "session_id":
            with suppress(HoldfastError, OSError):  # a completion does not report errors
                self._check_reading(context.request)
                app = await self.app_for(context.request)
                names = await app.scope.sessions.list_names(params.argument.value, COMPLETIONS + 1)
        has_more = len(names) > COMPLETIONS
        completion = types.Completion(
            values=names[:COMPLETIONS],
            total=None if has_more else len(names),
            has_more=has_more,
        )
        return types.CompleteResult(completion=completion)

    async def _run_tool(self, tool: Tool, context: Context, given: Mapping[str, Any]) -> Answer:
        """Parse, one verb, format; an error on the way is an answer too."""
        try:
            operation, call = await self._prepare(tool, context, given)
            return await operation.run(call)
        except Exception as error:
            return self._refuse(error)

    def _refuse(self, error: Exception) -> Answer:
        from holdfast.errors import hide_place
        from holdfast.surfaces.mcp.answer import make_refusal

        refused = make_refusal(hide_place(error) if self.hides_places else error)
        if refused.code == "bug":  # only a place in our code: nothing that a caller sent is printed
            print(f"holdfast mcp: {refused.message}", file=sys.stderr, flush=True)
        return refused

    async def _prepare(
        self, tool: Tool, context: Context, given: Mapping[str, Any]
    ) -> tuple[Operation, Call]:
        """What is refused here never reaches a verb, so a call of the exchange is counted here."""
        from holdfast.errors import HoldfastError
        from holdfast.surfaces.mcp.call import Call
        from holdfast.usecases.which_session import require_on

        try:
            operation, arguments = tool.parse(given)
            self.check_scope(context.request, tool.find_scope(operation))
            app = await self.app_for(context.request)
            name = tool.name_call(operation.name)
            caller = self._identify_caller(context, app)
            if operation.writes:
                require_on(app.settings, caller.client, caller.native_id)
        except HoldfastError as error:
            if tool.is_of_team:
                await self._count_refused(tool, context, given, error.code)
            raise
        return operation, Call(app, caller, name, arguments, self.starting, self.exists)

    async def _count_refused(
        self, tool: Tool, context: Context, given: Mapping[str, Any], code: str
    ) -> None:
        from holdfast.write import count_call

        app = await self.app_for(context.request)
        named = given.get("operation")
        operation = named if isinstance(named, str) and named in tool.operations else "unknown"
        await count_call(app.scope, f"{tool.name}.{operation}", code)

    @cached_property
    def callers(self) -> Callers:
        """Made by the first call: it loads what the handshake does without."""
        from holdfast.usecases.which_session import Callers

        return Callers(
            environment=self.environment, folder=self.folder, ancestors=self.process.ancestors
        )

    @cached_property
    def own(self) -> OwnSessions:
        from holdfast.usecases.which_session import OwnSessions

        return OwnSessions(self.process.name, self.process.opened)

    def _identify_caller(self, context: Context, app: App) -> Caller:
        client = context.session.client_params
        introduced_as = client.client_info.name if client else None
        meta: Any = context.meta
        return self.callers.identify(
            introduced_as,
            settings=app.settings,
            meta=meta,
            own=self._find_own(context.request, app),
        )

    def _find_own(self, request: Any, app: App) -> OwnSessions | None:
        """Over pipes the server is one client's; over HTTP a connection may have an id."""
        from holdfast.usecases.which_session import OwnSessions

        if request is None:
            return self.own
        given = request.headers.get(CONNECTION)
        if given is None:
            return None
        connection = (app.settings.developer, given)  # an id is a name, and not a right
        own = self._by_connection.pop(connection, None) or OwnSessions()
        self._by_connection[connection] = own  # the last one is the one that was used last
        if len(self._by_connection) > MOST_CONNECTIONS:
            del self._by_connection[next(iter(self._by_connection))]
        return own


# --- what there is --------------------------------------------------------------------------------


@cache
def _load_tools() -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for room in ROOMS:
        module = import_module(f"holdfast.surfaces.mcp.{room}")
        tools |= {tool.name: tool for tool in module.TOOLS}
    return tools


@cache
def _find_input_schema(name: str) -> Mapping[str, Any] | None:
    tool = _load_tools().get(name)
    if tool is None:
        return None
    return tool.input_schema()


def _list_offered(with_team: bool) -> list[Tool]:
    return [tool for tool in _load_tools().values() if with_team or not tool.is_of_team]


def write_instructions(*, with_team: bool) -> str:
    instructions = prose("instructions")
    if not with_team:
        return instructions
    team = prose("instructions-team")
    return f"{instructions}\n\n{team}"


@cache
def _describe_tools(with_team: bool) -> tuple[types.Tool, ...]:
    return tuple(
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=dict(_find_input_schema(tool.name) or {}),
            annotations=types.ToolAnnotations.model_validate(tool.hints),
        )
        for tool in _list_offered(with_team)
    )


async def _list_prompts(context: Context, params: object) -> types.ListPromptsResult:
    from holdfast.surfaces.mcp.prompts import PROMPTS, SESSION_ARGUMENT

    argument = types.PromptArgument(name="session_id", description=SESSION_ARGUMENT, required=False)
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(name=name, title=title, description=description, arguments=[argument])
            for name, title, description in PROMPTS
        ]
    )


def _list_resources(with_team: bool) -> types.ListResourcesResult:
    from holdfast.surfaces.mcp import resources

    listed = [
        types.Resource(
            uri=resources.BUNDLE + phase,
            name=f"bundle-{phase}",
            title=resources.TITLE.format(phase=phase),
            description=resources.DESCRIPTION,
            mime_type="text/plain",
        )
        for phase in resources.PHASES
    ]
    if with_team:
        contexts = types.Resource(
            uri=resources.CONTEXTS,
            name="contexts",
            title=resources.CONTEXTS_TITLE,
            description=resources.CONTEXTS_DESCRIPTION,
            mime_type="text/plain",
        )
        listed.append(contexts)
    return types.ListResourcesResult(resources=listed)


async def _list_resource_templates(
    context: Context, params: object
) -> types.ListResourceTemplatesResult:
    from holdfast.surfaces.mcp import resources

    bundle = types.ResourceTemplate(
        uri_template=resources.TEMPLATE,
        name="bundle",
        description=resources.DESCRIPTION,
        mime_type="text/plain",
    )
    conversation = types.ResourceTemplate(
        uri_template=resources.CONVERSATION_TEMPLATE,
        name="conversation",
        description=resources.CONVERSATION_DESCRIPTION,
        mime_type="text/plain",
    )
    return types.ListResourceTemplatesResult(resource_templates=[bundle, conversation])


def _as_protocol_error(error: Exception, refused: Answer, **about: str) -> MCPError:
    from holdfast.errors import Invalid, NotFound

    code = types.INTERNAL_ERROR
    if isinstance(error, Invalid | NotFound):
        code = types.INVALID_PARAMS
    return MCPError(code, refused.message, {**refused.to_dict(), **about})


def _allow_everything(request: object, scope: str) -> None:
    """A server over pipes acts for the person who started it."""
