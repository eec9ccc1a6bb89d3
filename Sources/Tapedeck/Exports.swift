// An app imports only this module, which re-exports the modules of the types in its API.
@_exported public import TapedeckLog
@_exported public import TapedeckModel
@_exported public import TapedeckProjections
@_exported public import TapedeckSync
@_exported public import TapedeckVideo
