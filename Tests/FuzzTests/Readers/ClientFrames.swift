@testable import Fanout

/// Whether a fanout takes this for a frame of a client. (The command line has a type of the same name.)
func isClientFrame(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let frame = try? ClientFrame(bytes) else { return false }
    if case .hello = frame { return (try? Hello(bytes)) != nil }
    return true
}
