import Bus
import Models
import Reactor

@testable import Fanout
@testable import Ingest
@testable import Receipt
@testable import ServiceKit
@testable import Store

/// The service that runs in a process next to its bus.
@Reactor
enum Service {
    case ingest(IngestService)
    case store(StoreService)
    case receipt(ReceiptService)
    case fanout(Fanout)

    static let secret = "a secret of the simulation, long enough for HS256"
    private static let log = Log(service: "simulation", level: .error)

    /// Starts a service as its `Main` does, without the parts that listen for HTTP.
    static func start(_ kind: Node.Kind, on node: Node, _ database: Database) -> Service {
        var service: Service?
        node.turn { service = make(kind, node, database) }
        return service!
    }

    private static func make(_ kind: Node.Kind, _ node: Node, _ database: Database) -> Service {
        var environment = Environment(["PARLEY_DATABASE_URL": "simulated"])
        switch kind {
        case .ingest: return .ingest(ingest(node, database.world))
        case .store:
            guard var configuration = try? StoreConfiguration(environment: &environment) else { fatalError() }
            configuration.sessionSource = DatabasePort(database, node).source
            let store = StoreService(configuration, bus: node.bus, log: log)
            node.bus.receivesOwnFrames = true
            store.start()
            return .store(store)
        case .receipt:
            guard var configuration = try? ReceiptConfiguration(environment: &environment) else { fatalError() }
            configuration.sessionSource = DatabasePort(database, node).source
            let receipt = ReceiptService(configuration, bus: node.bus, log: log)
            receipt.start()
            return .receipt(receipt)
        case .fanout:
            guard let key = try? TokenKey(secret: secret) else { fatalError() }
            let fanout = Fanout(
                bus: node.bus, tokens: TokenVerifier(key: key), log: log, fanoutSettings(database.world))
            fanout.start()
            return .fanout(fanout)
        }
    }

    /// Cuts work into small pieces so that much can happen between them. Sometimes limits clients tightly.
    private static func fanoutSettings(_ world: World) -> Fanout.Settings {
        var settings = Fanout.Settings()
        // It would query every possible slot.
        settings.queriesRefusals = false
        settings.turns = Turns.Size(steps: world.pick(1...3), share: 1, pause: world.microseconds(20...2_000))
        if world.fault(0.3) {
            settings.limits.framesPerSecond = world.pick(20...50)
            settings.limits.frameBurst = world.pick(30...80)
        }
        return settings
    }

    /// Sometimes has so little room that clients are refused temporarily.
    private static func ingest(_ node: Node, _ world: World) -> IngestService {
        var variables = ["PARLEY_JWT_SECRET": secret]
        if world.fault(0.2) {
            variables["PARLEY_RATE_PER_SECOND"] = "\(world.pick(2...20))"
            variables["PARLEY_RATE_BURST"] = "\(world.pick(1...5))"
        }
        if world.fault(0.2) { variables["PARLEY_REQUESTS_IN_FLIGHT"] = "\(world.pick(1...3))" }
        var environment = Environment(variables)
        guard let settings = try? ServiceSettings(name: "ingest", environment: &environment),
            let configuration = try? IngestConfiguration(environment: &environment)
        else { fatalError() }
        // Without the lists of refused tokens, as in fanout.
        return IngestService(ServiceKit.Service(settings, log: log), configuration, bus: node.bus)
    }

    /// Starts the shutdown that SIGTERM causes.
    func drain(_ node: Node) {
        node.turn {
            switch self {
            case .ingest, .fanout: break
            case .store(let store):
                Reactor.spawn {
                    await store.finish()
                    await store.slots.drain()
                    node.bus.close()
                }
            case .receipt(let receipt):
                Reactor.spawn {
                    await receipt.finish()
                    await receipt.slots.drain()
                    node.bus.close()
                }
            }
        }
    }
}
