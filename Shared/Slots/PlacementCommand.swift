import Glibc
import Models
import Postgres

/// The commands `placement` and `statement` of a service.
public enum PlacementCommand {
    /// Prints a line for each shard of a database on Citus: its number, the host and the port of its node, and its slots.
    /// Ends the process.
    public static func run(databaseURL: String?) -> Never {
        for shard in placement(databaseURL).shards {
            let slots = shard.slots.map { "\($0.number)" }.joined(separator: ",")
            print("\(shard.number)\t\(shard.node.host)\t\(shard.node.port)\t\(slots)")
        }
        exit(0)
    }

    /// Runs `statement [--slot SLOT] [NAME…]`: with a slot, prints what is sent to the node of its shard.
    public static func runStatement(
        _ statements: [Statement], arguments: ArraySlice<String>, databaseURL: String?
    ) -> Never {
        guard arguments.first == "--slot" else { StatementCommand.run(statements, arguments: arguments) }
        guard let number = arguments.dropFirst().first.flatMap({ UInt8($0) }) else { fail("a slot is from 0 to 255") }
        StatementCommand.run(
            statements, arguments: arguments.dropFirst(2), names: placement(databaseURL).shard(of: Slot(number)).names)
    }

    private static func placement(_ databaseURL: String?) -> Placement {
        guard let databaseURL else { fail("PARLEY_DATABASE_URL must be set") }
        do {
            let database = try BlockingConnection(url: databaseURL, applicationName: "parley-placement")
            guard let placement = try Placement(of: database) else { fail("the database is not distributed") }
            return placement
        } catch let error as DatabaseError {
            fail(error.debugDescription)
        } catch { fail("\(error)") }
    }

    private static func fail(_ reason: String) -> Never {
        let line = Array("placement: \(reason)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(1)
    }
}
