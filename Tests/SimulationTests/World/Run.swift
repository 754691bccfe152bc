import Models
import Reactor

/// One run: some time with work and faults, then the end of all faults, then a check of everything promised.
@Reactor
struct Run {
    let system: System
    private let work: Work
    private var world: World { system.world }

    /// The time with faults.
    private let trouble: Duration
    /// The time until everything must be right again, in seconds. It covers deadlines of 10 s and pauses of 1 s.
    private static let patience = 60

    /// - Returns: the violations; none in a correct system.
    static func violations(seed: UInt64, _ mutation: Mutation? = nil, _ tally: Tally? = nil) -> [String] {
        let run = Run(System(World(seed: seed, mutation: mutation)))
        defer { run.system.end() }
        run.carryOut()
        tally?.count(run.system)
        return run.world.violations
    }

    /// - Returns: what the database carried out in the run, and what it holds at the end.
    static func transcript(seed: UInt64) -> (transcript: Transcript, end: Tables, violations: [String]) {
        let run = Run(System(World(seed: seed)))
        defer { run.system.end() }
        let transcript = Transcript(run.system.database.tables)
        run.system.database.transcript = transcript
        run.carryOut()
        run.system.database.transcript = nil
        return (transcript, run.system.database.tables, run.world.violations)
    }

    private init(_ system: System) {
        self.system = system
        work = Work(system)
        trouble = system.world.milliseconds(800...2500)
    }

    private func carryOut() {
        world.run(for: .milliseconds(300))
        for client in system.clients { client.connect() }
        planWork()
        planFaults()
        world.run(for: trouble)
        system.heal()
        guard waitUntil({ Checks.haveClientsEverything(system) }, else: { Checks.missing(system) }) else { return }
        for client in system.clients { client.readEverything() }
        guard waitUntil({ Checks.areReceiptsEverywhere(system) }, else: { Checks.missingReceipts(system) }) else {
            return
        }
        work.readEverything()
        guard waitUntil({ system.clients.allSatisfy { $0.unanswered == 0 } }, else: { Checks.missing(system) }) else {
            return
        }
        Checks.checkTables(system)
    }

    private func waitUntil(_ isDone: () -> Bool, else why: () -> String) -> Bool {
        for _ in 0..<(4 * Self.patience) {
            if isDone() || !world.violations.isEmpty { return world.violations.isEmpty }
            world.run(for: .milliseconds(250))
        }
        world.violated("not in order again after \(Self.patience) s: \(why())")
        return false
    }

    // MARK: Work

    private func planWork() {
        let milliseconds = Int(trouble.milliseconds)
        for number in 0..<world.pick(8...24) {
            world.after(world.milliseconds(0...milliseconds)) { [work] in work.doSomething(number) }
        }
        for _ in 0..<world.pick(0...10) {
            world.after(world.milliseconds(0...milliseconds)) { [system] in
                let client = system.clients[system.world.pick(0...3)]
                let conversation = system.conversations[system.world.pick(0...1)]
                client.say(system.world.chance(0.5) ? "read" : "delivered", conversation)
            }
        }
    }

    // MARK: Faults

    private func planFaults() {
        let network = system.network, database = system.database!
        network.loss = world.chance(0.6) ? Double(world.pick(1...50)) / 100 : 0
        network.repetition = world.chance(0.4) ? 0.2 : 0
        network.overtaking = world.chance(0.4) ? 0.3 : 0
        network.delay = world.chance(0.4) ? world.pick(5...400) : 0
        database.failure = world.chance(0.4) ? 0.1 : 0
        database.breakage = world.chance(0.4) ? 0.03 : 0
        database.slowness = world.chance(0.3) ? world.pick(10...600) : 0
        for _ in 0..<world.pick(0...4) {
            world.after(world.milliseconds(0...Int(trouble.milliseconds))) { [system] in Faults.strike(system) }
        }
    }
}

/// Faults of processes and connections.
@Reactor
enum Faults {
    static func strike(_ system: System) {
        let world = system.world
        guard world.isFaulty, let node = system.node(Node.Kind(rawValue: world.pick(0...3))!) else { return }
        let fault = world.pick(0...9)
        world.note("fault \(fault) strikes \(node.kind) \(node.number)")
        switch fault {
        case 0...2:
            system.kill(node)
            restart(node, system)
        case 3:
            system.drain(node)
            world.after(world.milliseconds(100...1500)) {
                guard node.isAlive else { return }
                system.kill(node)
                restart(node, system)
            }
        case 4:
            // Sometimes so long that the others end its sessions.
            let pause = world.chance(0.2) ? world.milliseconds(5500...9000) : world.milliseconds(10...1500)
            node.pausedUntil = world.now + pause
        case 5: partition(node, system)
        case 6: system.database.cutOff(node)
        case 7: system.clients[world.pick(0...3)].disconnect()
        case 8: system.database.forgetLocks(of: node, for: world.milliseconds(200...2500))
        default: if world.chance(0.3) { system.database.restart(after: world.milliseconds(5...800)) }
        }
    }

    private static func restart(_ node: Node, _ system: System) {
        system.world.after(system.world.milliseconds(50...1200)) {
            if system.isMissing(node.kind) { system.start(node.kind) }
        }
    }

    private static func partition(_ node: Node, _ system: System) {
        guard let other = system.node(Node.Kind(rawValue: system.world.pick(0...3))!), other !== node else { return }
        let pair: Set = [ObjectIdentifier(node), ObjectIdentifier(other)]
        system.network.partitions.insert(pair)
        system.world.after(system.world.milliseconds(50...1500)) { system.network.partitions.remove(pair) }
    }
}
