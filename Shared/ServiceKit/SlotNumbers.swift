import Bus
import Bytes
import Models
import Reactor
import Wire

/// How much of a list is here that the stores keep by slot and number: loaded slot by slot, and kept fresh by what they
/// announce. What is new comes at once, and the last number of each slot every second, so a lost announcement is found by the
/// next number. Numbers only grow, which is why neither epochs nor clocks are needed.
@Reactor
final class SlotNumbers {
    private static let deadline = Duration.seconds(10)
    private static let pause = Duration.seconds(1)

    typealias Completion = @Reactor (RequestOutcome) -> Void
    /// Asks the store for what is behind a number.
    typealias Query = @Reactor (Slot, _ after: Int64, @escaping Completion) -> Void
    /// Takes what an answer has behind the end of the numbers, and returns the last one's number, or the one asked behind.
    typealias Take = @Reactor (_ rest: inout ByteReader, _ after: Int64) throws(WireError) -> Int64

    private let query: Query
    private let take: Take
    /// The last number of each slot up to which everything is here.
    private var held = [Int64](repeating: 0, count: Slot.count)
    /// The slots that were held completely once.
    private var isLoaded = [Bool](repeating: false, count: Slot.count)
    private var announced = [Int64](repeating: 0, count: Slot.count)
    private var asked: Set<Slot> = []
    private var unloaded = Slot.count

    init(query: @escaping Query, take: @escaping Take) {
        self.query = query
        self.take = take
    }

    /// Loads all slots.
    func start() { for slot in Slot.all { ask(slot) } }

    /// Whether every slot was loaded.
    var isComplete: Bool { unloaded == 0 }

    func isLoaded(_ slot: Slot) -> Bool { isComplete || isLoaded[Int(slot.number)] }

    /// A store has told the slot's last number, and what has it when `isTold`.
    func announced(_ number: Int64, of slot: Slot, isTold: Bool) {
        let index = Int(slot.number)
        announced[index] = max(announced[index], number)
        if isTold, number == held[index] + 1 { held[index] = number }
        if held[index] < number { ask(slot) }
    }

    private func ask(_ slot: Slot) {
        guard asked.insert(slot).inserted else { return }
        let after = held[Int(slot.number)]
        query(slot, after) { [weak self] outcome in self?.answered(outcome, slot, after) }
    }

    private func answered(_ outcome: RequestOutcome, _ slot: Slot, _ after: Int64) {
        asked.remove(slot)
        guard case .answered(let answer) = outcome, answer.status == 200, let end = try? read(answer, slot, after)
        else {
            Reactor.after(Self.pause) { [weak self] in self?.ask(slot) }
            return
        }
        let index = Int(slot.number)
        if held[index] >= end, !isLoaded[index] {
            isLoaded[index] = true
            unloaded -= 1
        }
        if held[index] < max(end, announced[index]) { ask(slot) }
    }

    /// - Returns: the end of the slot's numbers.
    private func read(_ answer: Answer, _ slot: Slot, _ after: Int64) throws(WireError) -> Int64 {
        var reader = ByteReader(answer.payload.bytes)
        let end: Int64 = try reader.position()
        let last = try take(&reader, after)
        let index = Int(slot.number)
        held[index] = max(held[index], last)
        return end
    }

    static func ask(
        _ bus: Bus, _ kind: StoreRequestKind, in slot: Slot, _ fields: some WireCodable,
        _ completion: @escaping Completion
    ) {
        bus.request(kind, in: slot, deadline: deadline, fields: { fields.write(to: &$0) }, completion: completion)
    }
}
