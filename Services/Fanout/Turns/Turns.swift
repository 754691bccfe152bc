import Reactor

/// Cuts work that is too long for one turn of the reactor into many: no user's conversations, however many, and no room's
/// sessions may keep everybody else waiting.
///
/// A step is a few microseconds' work, such as putting a session into one room. All tasks of the process share the steps of
/// a turn, some at a time each, so a large one delays the small ones beside it little.
@Reactor
final class Turns {
    /// Whether there is more to do.
    typealias Step = @Reactor () -> Bool

    /// How work is cut. The default suits life; simulations choose smaller pieces, further apart.
    struct Size {
        /// Steps in a turn: about a millisecond's work.
        var steps = 256
        /// Steps of one task before it is the next one's turn.
        var share = 32
        /// Between two portions; nil: no longer than it takes to look at all that is ready.
        var pause: Duration?
    }

    /// An object and not the closure itself: each time a closure goes through a generic container and back, the compiler
    /// wraps it once more, and a task goes there with every share.
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

    /// Runs `step` from the end of this turn on, until it says that there is no more.
    func run(_ step: @escaping Step) {
        tasks.append(Task(step))
        plan(after: nil)
    }

    /// Calls `body` for each element, one a step, and at last `end`.
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

    /// Called by a step that did the work of several.
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

    /// Returns whether there is more.
    private func runShare(of task: Task) -> Bool {
        let end = max(0, stepsLeft - size.share)
        while stepsLeft > end {
            stepsLeft -= 1
            guard task.step() else { return false }
        }
        return true
    }
}
