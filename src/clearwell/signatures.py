"""Clear errors for calls that do not fit the Python surface.

The group is a keyword in every method, so that it cannot be confused with a text or an id, and a memory is bound to its
caller. A capture is a record, which has the group. Python's own message for a call in another form does not say what to
write instead.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
Parameters = Mapping[str, inspect.Parameter]


def explain_wrong_calls(cls: C) -> C:
    """Have methods explain what to write instead of a positional group, of ``by``, or of a text for a capture."""
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and inspect.isfunction(method):
            parameters = inspect.signature(method).parameters
            group = parameters.get("group")
            if group is not None and group.kind is inspect.Parameter.KEYWORD_ONLY:
                setattr(cls, name, _explain(method, _show_call(name, parameters), _count_positional(parameters)))
            elif "new" in parameters or "news" in parameters:
                setattr(cls, name, _explain_capture(method, several="news" in parameters))
    return cls


def _explain(method: Callable[..., Any], call: str, most: int) -> Callable[..., Any]:
    @wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if len(args) > most or "group_id" in kwargs:
            raise TypeError(f"{method.__name__}() takes the group as the keyword argument 'group': {call}")
        if "by" in kwargs:
            raise TypeError(f"{method.__name__}() has no argument 'by'. Bind the caller first: acting_as(by).{call}")
        return method(*args, **kwargs)

    return checked


def _explain_capture(method: Callable[..., Any], *, several: bool) -> Callable[..., Any]:
    name, record = method.__name__, 'NewCapture(content="…", group_id="grp-123")'
    call = f"{name}([{record}])" if several else f"{name}({record})"

    @wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        first = args[1:2]
        given = first[0] if several and first and isinstance(first[0], list | tuple) else first
        if kwargs.keys() & {"group", "group_id", "content"} or any(isinstance(one, str) for one in given):
            raise TypeError(f"{name}() takes outputs as NewCapture, which has the text and the group: {call}")
        return method(*args, **kwargs)

    return checked


def _count_positional(parameters: Parameters) -> int:
    return sum(one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for one in parameters.values())


def _show_call(name: str, parameters: Parameters) -> str:
    """The call as it should be written, with the arguments that are required."""
    empty, positional = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = [one.name for one in parameters.values() if one.kind is positional and one.name != "self"]
    named = [
        f'{one.name}="…"'
        for one in parameters.values()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and one.default is empty and one.name != "group"
    ]
    arguments = ", ".join([*first, 'group="grp-123"', *named])
    return f"{name}({arguments})"
