"""The export route: a crawl as a file, sent while it is read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse

from tres_crawler.exports.export import Export
from tres_crawler.exports.formats import FILE_NAME, MEDIA_TYPE, Format
from tres_crawler.serve.common import CrawlNumber, Stored, known_caller
from tres_crawler.serve.problems import documented

LARGEST = 2**31 - 1

router = APIRouter(prefix="/api/v1/crawls/{number}", tags=["look"], dependencies=[Depends(known_caller)])


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPE.values()}},
        **documented(401, 404, 422),
    },
)
async def export(
    number: CrawlNumber,
    request: Request,
    database: Stored,
    kind: Annotated[Format, Query(alias="format", description="Kind of file; docs/exports.md lists the columns.")],
    after: Annotated[
        int, Query(ge=0, le=LARGEST, description="Begin after this number: the last one of an earlier part.")
    ] = 0,
    limit: Annotated[
        int | None, Query(ge=1, le=LARGEST, description="How many numbers to go on from there; all if left out.")
    ] = None,
) -> StreamingResponse:
    """Pages, sites or links of a crawl as a file, also while it runs.

    A transfer that broke off goes on with `after`: the `number` of the last whole row that arrived.
    """
    wanted = Export(database, request.app.state.folder.path, number, kind, after, limit)
    await wanted.check()
    name = f"crawl-{number}-{FILE_NAME[kind]}"
    return StreamingResponse(
        wanted.pieces(), media_type=MEDIA_TYPE[kind], headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
