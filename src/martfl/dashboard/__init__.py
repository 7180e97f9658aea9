"""What people see: a market's story as a report on disk and as a page that follows it live.

`story` says what happened, in frozen dataclasses; `reading` and `ledger` fill it from a journal and from a chain;
`sections` turns it into HTML that is the same in the report and on the page.
"""
