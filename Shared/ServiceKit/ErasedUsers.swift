import Bus
import Bytes
import Models
import Reactor
import Wire

/// The users whose tokens are refused, because everything of theirs was erased or is being. Some 100 bytes each.
///
/// It spares the requests of erased users the way to the store and gives them the right answer; that they can do nothing
/// any more does not rest on it.
@Reactor
public final class ErasedUsers {
    /// Called with each user that was not known to be erased.
    public var onErased: @Reactor (UserID) -> Void = { _ in }

    private let bus: Bus
    private var users: Set<UserID> = []
    /// The users of a slot are numbered without gaps.
    private lazy var numbers = SlotNumbers(
        query: { [bus] slot, after, completion in
            SlotNumbers.ask(bus, .erasedUsers, in: slot, ErasedUsersQuery(slot, after: after), completion)
        },
        take: { [unowned self] (rest, after) throws(WireError) in try take(&rest, after) })

    public init(bus: Bus) { self.bus = bus }

    /// Loads all slots. `receive` has to get the frames of the bus from now on.
    public func start() {
        for group in SlotGroup.all { bus.subscribe(.erasure(group)) }
        numbers.start()
    }

    /// Whether every slot was loaded.
    public var isComplete: Bool { numbers.isComplete }

    /// Whether it can be said of this user whether they are erased.
    public func knows(_ user: UserID) -> Bool { numbers.isLoaded(user.slot) }

    public func contains(_ user: UserID) -> Bool { !users.isEmpty && users.contains(user) }

    /// A store has said so.
    public func insert(_ user: UserID) {
        if users.insert(user).inserted { onErased(user) }
    }

    /// Takes a frame under the topic `erasure`.
    public func receive(_ frame: InboundFrame) {
        for bytes in frame.entries {
            var reader = ByteReader(bytes)
            if let entry = try? ErasureEntry(from: &reader) { take(entry) } else { bus.refuseEntry(of: frame) }
        }
    }

    private func take(_ entry: ErasureEntry) {
        if let user = entry.latest { insert(user) }
        numbers.announced(entry.count, of: entry.slot, isTold: entry.latest != nil)
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
