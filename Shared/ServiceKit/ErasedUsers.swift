import Bus
import Bytes
import Models
import Reactor
import Wire

/// The users whose tokens are refused, because everything of theirs was erased or is being.
///
/// Loaded from the stores, slot by slot, and kept fresh by what they announce: names come at once, and numbers every
/// second, so a lost announcement is found by the next number. The users of a slot are numbered and never fewer, which
/// is why neither epochs nor clocks are needed. Some 100 bytes per erased user.
///
/// It spares the requests of erased users the way to the store and gives them the right answer; that they can do nothing
/// any more does not rest on it.
@Reactor
public final class ErasedUsers {
    private static let deadline = Duration.seconds(10)
    private static let pause = Duration.seconds(1)

    /// Called with each user that was not known to be erased.
    public var onErased: @Reactor (UserID) -> Void = { _ in }

    private let bus: Bus
    private var users: Set<UserID> = []
    /// How many of each slot are held, in order of their numbers.
    private var held = [Int64](repeating: 0, count: Slot.count)
    /// The slots that were held completely once.
    private var isLoaded = [Bool](repeating: false, count: Slot.count)
    private var announced = [Int64](repeating: 0, count: Slot.count)
    private var asked: Set<Slot> = []
    private var unloaded = Slot.count

    public init(bus: Bus) { self.bus = bus }

    /// Loads all slots. `receive` has to get the frames of the bus from now on.
    public func start() {
        for group in SlotGroup.all { bus.subscribe(.erasure(group)) }
        for slot in Slot.all { ask(slot) }
    }

    /// Whether every slot was loaded.
    public var isComplete: Bool { unloaded == 0 }

    /// Whether it can be said of this user whether they are erased.
    public func knows(_ user: UserID) -> Bool { isComplete || isLoaded[Int(user.slot.number)] }

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
        let index = Int(entry.slot.number)
        announced[index] = max(announced[index], entry.count)
        if let user = entry.latest { insert(user) }
        if entry.latest != nil, entry.count == held[index] + 1 { held[index] = entry.count }
        if held[index] < entry.count { ask(entry.slot) }
    }

    // MARK: Asking

    private func ask(_ slot: Slot) {
        guard asked.insert(slot).inserted else { return }
        let query = ErasedUsersQuery(slot, after: held[Int(slot.number)])
        let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
        bus.request(.erasedUsers, in: slot, deadline: Self.deadline, fields: fields) { [weak self] outcome in
            self?.take(outcome, query)
        }
    }

    private func take(_ outcome: RequestOutcome, _ query: ErasedUsersQuery) {
        asked.remove(query.slot)
        guard case .answered(let answer) = outcome, answer.status == 200, let end = try? take(answer, query) else {
            Reactor.after(Self.pause) { [weak self] in self?.ask(query.slot) }
            return
        }
        let index = Int(query.slot.number)
        if held[index] >= end, !isLoaded[index] {
            isLoaded[index] = true
            unloaded -= 1
        }
        if held[index] < max(end, announced[index]) { ask(query.slot) }
    }

    /// - Returns: the end of the slot's numbers.
    private func take(_ answer: Answer, _ query: ErasedUsersQuery) throws(WireError) -> Int64 {
        var reader = ByteReader(answer.payload.bytes)
        let end: Int64 = try reader.position()
        var last = query.after
        while !reader.isAtEnd {
            insert(try reader.user())
            last += 1
        }
        let index = Int(query.slot.number)
        held[index] = max(held[index], last)
        return end
    }
}
