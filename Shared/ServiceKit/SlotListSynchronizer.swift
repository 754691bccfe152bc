import Bus
import Bytes
import Models
import Reactor
import Wire

/// Keeps a local copy of a list that the stores number per slot. Loads each slot, then follows announcements: a new
/// entry is announced at once, and the last number of each slot every second, so a lost announcement is detected by the
/// next number. Numbers only grow, so neither epochs nor clocks are needed.
@Reactor
final class SlotListSynchronizer {
    private static let deadline = Duration.seconds(10)
    private static let pause = Duration.seconds(1)

    typealias Completion = @Reactor (RequestOutcome) -> Void
    /// Requests the entries after a number from the store.
    typealias Query = @Reactor (Slot, _ after: Int64, @escaping Completion) -> Void
    /// Reads the entries of a response, and returns the number of the last one, or `after` if there is none.
    typealias Take = @Reactor (_ rest: inout ByteReader, _ after: Int64) throws(WireError) -> Int64

    private let query: Query
    private let take: Take
    /// For each slot, the number up to which all entries are loaded.
    private var loadedThrough = [Int64](repeating: 0, count: Slot.count)
    /// The slots that were complete once.
    private var isLoaded = [Bool](repeating: false, count: Slot.count)
    private var announced = [Int64](repeating: 0, count: Slot.count)
    private var requested: Set<Slot> = []
    private var unloaded = Slot.count

    init(query: @escaping Query, take: @escaping Take) {
        self.query = query
        self.take = take
    }

    /// Loads all slots.
    func start() { for slot in Slot.all { request(slot) } }

    /// Whether every slot was loaded.
    var isComplete: Bool { unloaded == 0 }

    func isLoaded(_ slot: Slot) -> Bool { isComplete || isLoaded[Int(slot.number)] }

    /// Called when a store announced the slot's last number, with that entry if `includesEntry`.
    func announced(_ number: Int64, of slot: Slot, includesEntry: Bool) {
        let index = Int(slot.number)
        announced[index] = max(announced[index], number)
        if includesEntry, number == loadedThrough[index] + 1 { loadedThrough[index] = number }
        if loadedThrough[index] < number { request(slot) }
    }

    private func request(_ slot: Slot) {
        guard requested.insert(slot).inserted else { return }
        let after = loadedThrough[Int(slot.number)]
        query(slot, after) { [weak self] outcome in self?.received(outcome, slot, after) }
    }

    private func received(_ outcome: RequestOutcome, _ slot: Slot, _ after: Int64) {
        requested.remove(slot)
        guard case .response(let response) = outcome, response.status == 200, let end = try? read(response, slot, after)
        else {
            Reactor.after(Self.pause) { [weak self] in self?.request(slot) }
            return
        }
        let index = Int(slot.number)
        if loadedThrough[index] >= end, !isLoaded[index] {
            isLoaded[index] = true
            unloaded -= 1
        }
        if loadedThrough[index] < max(end, announced[index]) { request(slot) }
    }

    /// - Returns: the slot's last number.
    private func read(_ response: BusResponse, _ slot: Slot, _ after: Int64) throws(WireError) -> Int64 {
        var reader = ByteReader(response.payload.bytes)
        let end: Int64 = try reader.position()
        let last = try take(&reader, after)
        let index = Int(slot.number)
        loadedThrough[index] = max(loadedThrough[index], last)
        return end
    }

    static func request(
        _ bus: Bus, _ kind: StoreRequestKind, in slot: Slot, _ fields: some WireCodable,
        _ completion: @escaping Completion
    ) {
        bus.request(kind, in: slot, deadline: deadline, fields: { fields.write(to: &$0) }, completion: completion)
    }
}
