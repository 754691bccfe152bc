import Reactor

/// One client request, repeated until its response arrives and sometimes after that. Each attempt goes to any ingest,
/// while the previous attempt may still be in flight or its response lost.
@Reactor
final class Inquiry {
    private let request: [UInt8]
    private unowned let system: System
    private var world: World { system.world }
    /// Called with the first response and with the responses to repetitions.
    private let answered: @Reactor (IngestConnection.Response, _ isRepetition: Bool) -> Void
    private var isDone = false
    private var attempts = 0

    init(
        _ request: [UInt8], in system: System,
        answered: @escaping @Reactor (IngestConnection.Response, _ isRepetition: Bool) -> Void
    ) {
        self.request = request
        self.system = system
        self.answered = answered
    }

    func ask() {
        attempts += 1
        let attempt = attempts
        // Mostly longer than ingest waits: a client without a response by then has lost the connection.
        let patience = world.fault(0.1) ? world.milliseconds(20...2000) : .seconds(6)
        world.after(patience) { [self] in
            if !isDone, attempts == attempt { ask() }
        }
        guard let (node, ingest) = system.ingest() else { return }
        world.note("asks \(node.number): \(String(decoding: request, as: UTF8.self).replacing("\r\n", with: " "))")
        IngestConnection.ask(ingest, on: node, request, in: world) { [self] response in
            world.note("answer \(response.status): \(String(decoding: response.body, as: UTF8.self).prefix(300))")
            take(response)
        }
    }

    private func take(_ response: IngestConnection.Response) {
        if response.status == 429 || response.status == 503 {
            guard !isDone else { return }
            attempts += 1
            let pause = response.status == 429 ? .seconds(1) : world.milliseconds(100...800)
            return world.after(pause) { [self] in if !isDone { ask() } }
        }
        answered(response, isDone)
        guard !isDone else { return }
        isDone = true
        if world.fault(0.1) { world.after(world.milliseconds(0...1500)) { [self] in ask() } }
    }
}
