// Whoever imports ParleyKit has the types that its functions take and return.
@_exported import Models
@_exported import ParleyStorage
@_exported import ParleySync
@_exported import ParleyTransport

#if canImport(Darwin)
    @_exported import ParleyFoundationTransport
#endif
