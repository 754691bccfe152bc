@testable import Fanout

/// Whether a fanout takes this for a frame of a client. (The command line has a type of the same name.)
func isClientFrame(_ bytes: UnsafeRawBufferPointer) -> Bool { (try? ClientFrame(bytes)) != nil }
