import Models
import ParleyStorage

/// What sends messages: it observes the rows that are `sending`, of all conversations, and sends them in the order of
/// writing, for as long as it takes. `Parley` does this whenever it is connected; this is the name for that part of it.
public struct MessageSendWorker: Sendable {
    private let parley: Parley

    public init(_ parley: Parley) { self.parley = parley }

    public func start() async { await parley.connect() }

    public func stop() async { await parley.disconnect() }

    /// Sends what waits, and returns when the server was asked, without staying connected.
    public func sendOnce() async { await parley.catchUp() }

    /// The messages that the server does not have: `sending`, or `failed` with the reason.
    public var unsent: Updates<[TimelineRow]> {
        parley.observation.updates(of: { if case .conversation = $0 { true } else { false } }) { [parley] in
            try await parley.observation.reader.read { store throws(StorageError) in try store.unsentRows() }
        }
    }
}
