// An app imports one module: what the store speaks of comes with it.
@_exported public import TapedeckLog
@_exported public import TapedeckModel
@_exported public import TapedeckProjections
@_exported public import TapedeckSync
@_exported public import TapedeckVideo
