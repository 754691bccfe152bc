import Bus
import Bytes
import Models
import Reactor
import Wire

/// The users whose tokens are refused, because they are erased or being erased. About 100 bytes each.
///
/// It refuses the requests of erased users at the edge, with the right status. The store refuses them too, so
/// correctness does not depend on it.
@Reactor
public final class ErasedUsers {
    /// Called with each newly erased user.
    public var onErased: @Reactor (UserID) -> Void = { _ in }

    private let bus: Bus
    private var users: Set<UserID> = []
    /// The erased users of a slot are numbered without gaps.
    private lazy var synchronizer = SlotListSynchronizer(
        query: { [bus] slot, after, completion in
            SlotListSynchronizer.request(bus, .erasedUsers, in: slot, ErasedUsersQuery(slot, after: after), completion)
        },
        take: { [unowned self] (rest, after) throws(WireError) in try take(&rest, after) })

    public init(bus: Bus) { self.bus = bus }

    /// Loads all slots. From now on `receive` must be called with the frames of the topic `erasure`.
    public func start() {
        for group in SlotGroup.all { bus.subscribe(.erasure(group)) }
        synchronizer.start()
    }

    /// Whether every slot was loaded.
    public var isComplete: Bool { synchronizer.isComplete }

    /// Whether the user's slot is loaded, so that `contains` is reliable.
    public func knows(_ user: UserID) -> Bool { synchronizer.isLoaded(user.slot) }

    public func contains(_ user: UserID) -> Bool { !users.isEmpty && users.contains(user) }

    /// Adds a user that a store has erased.
    public func insert(_ user: UserID) {
        if users.insert(user).inserted { onErased(user) }
    }

    /// Reads a frame of the topic `erasure`.
    public func receive(_ frame: InboundFrame) {
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            if let entry = try? ErasureEntry(from: &reader) { take(entry) } else { bus.refuseEntry(of: frame) }
        }
    }

    private func take(_ entry: ErasureEntry) {
        if let user = entry.latest { insert(user) }
        synchronizer.announced(entry.count, of: entry.slot, includesEntry: entry.latest != nil)
    }

    private func take(_ rest: inout ByteReader, _ after: Int64) throws(WireError) -> Int64 {
        var last = after
        while !rest.isAtEnd {
            insert(try rest.user())
            last += 1
        }
        return last
    }
}
