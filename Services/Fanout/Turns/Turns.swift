import Reactor

/// Splits work that is too long for one turn of the reactor over many turns, so that neither a user's many
/// conversations nor a room's many sessions delay everybody else.
///
/// A step is a few microseconds of work, such as adding a session to one room. All tasks of the process share the steps
/// of a turn in small shares, so a large task delays small ones little.
@Reactor
final class Turns {
    /// Does one step and returns whether there is more.
    typealias Step = @Reactor () -> Bool

    /// How work is split. Simulations choose smaller portions, further apart.
    struct Size {
        /// Steps in a turn: about a millisecond of work.
        var steps = 256
        /// Steps of one task before the next task continues.
        var share = 32
        /// The pause between two portions; nil: continue in the next turn.
        var pause: Duration?
    }

    /// An object instead of the closure itself: each time a closure passes through a generic container, the compiler
    /// wraps it once more, and a task passes through one with every share.
    private final class Task {
        let step: Step
        init(_ step: @escaping Step) { self.step = step }
    }

    private let size: Size
    private var tasks = FIFO<Task>()
    private var isPlanned = false
    private var stepsLeft = 0
    /// The most steps a turn has taken, for tests.
    private(set) var longest = 0

    init(_ size: Size = Size()) { self.size = size }

    /// Runs `step` repeatedly from the end of this turn on, until it returns false.
    func run(_ step: @escaping Step) {
        tasks.append(Task(step))
        plan(after: nil)
    }

    /// Calls `body` for each element, one per step, and finally `end`.
    func forEach<Elements: Sequence>(
        _ elements: Elements, _ body: @escaping @Reactor (Elements.Element) -> Void,
        end: @escaping @Reactor () -> Void = {}
    ) {
        var iterator = elements.makeIterator()
        run {
            guard let element = iterator.next() else {
                end()
                return false
            }
            body(element)
            return true
        }
    }

    /// Charges a step that did the work of several.
    func spend(_ steps: Int) { stepsLeft -= steps }

    private func plan(after pause: Duration?) {
        guard !isPlanned else { return }
        isPlanned = true
        let portion: @Reactor () -> Void = { [weak self] in self?.runPortion() }
        if let pause { Reactor.after(pause, portion) } else { Reactor.atEndOfTurn(portion) }
    }

    private func runPortion() {
        stepsLeft = size.steps
        while stepsLeft > 0, let task = tasks.popFirst() {
            if runShare(of: task) { tasks.append(task) }
        }
        longest = max(longest, size.steps - stepsLeft)
        isPlanned = false
        if !tasks.isEmpty { plan(after: size.pause) }
    }

    /// Runs one share of a task. Returns whether there is more.
    private func runShare(of task: Task) -> Bool {
        let end = max(0, stepsLeft - size.share)
        while stepsLeft > end {
            stepsLeft -= 1
            guard task.step() else { return false }
        }
        return true
    }
}
