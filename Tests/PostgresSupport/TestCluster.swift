import Glibc
import Postgres
import Synchronization

/// A private PostgreSQL cluster that lives as long as the test process.
///
/// A shell script owns it and waits for the end of a pipe whose other end only this process holds. However the process
/// ends, by a crash or by `kill -9` too, the pipe closes and the script removes everything.
package final class TestCluster: Sendable {
    /// The cluster that tests share, started by the first one that needs it. It does not sync to disk.
    package static let shared = TestCluster()

    /// The directory of the Unix socket, and of all else.
    package let directory: String
    private let lifeline: CInt
    private let databaseCount = Atomic<Int>(0)
    /// The databases that others are copied from.
    private let templates = Mutex<[Template]>([])

    private struct Template {
        let schemas: [String], layout: Layout, name: String
    }

    /// Starts a cluster with settings of its own. `fsync=on` makes it sync every commit to disk, for measurements.
    package init(settings: String...) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/parley-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("mkdtemp failed: errno \(errno)") }
        directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        lifeline = Self.runScript(directory: directory, settings: settings)
    }

    deinit { close(lifeline) }

    /// A libpq conninfo for `database`.
    package func url(database: String = "postgres") -> String { "host=\(directory) user=postgres dbname=\(database)" }

    /// Ends a process of the cluster at once, as the system does when memory runs out. PostgreSQL then ends all other
    /// sessions of the cluster too.
    package func kill(backend: Int32) { Glibc.kill(backend, SIGKILL) }

    func nextDatabaseName() -> String { "test_\(databaseCount.add(1, ordering: .relaxed).newValue)" }

    /// The name of a database with the tables of these schemas, which nobody is connected to.
    func template(of migrators: [Migrator], _ layout: Layout) throws -> String {
        let schemas = migrators.map(\.schema)
        return try templates.withLock { templates in
            if let made = templates.first(where: { $0.schemas == schemas && $0.layout == layout }) { return made.name }
            let template = Template(schemas: schemas, layout: layout, name: "template_\(templates.count + 1)_of_tests")
            try TestDatabase.administer(self, "CREATE DATABASE \(template.name)")
            let url = url(database: template.name)
            for migrator in migrators { _ = try migrator.apply(toDatabaseAt: url, layout: layout) }
            templates.append(template)
            return template.name
        }
    }

    private static let script = """
        set -e
        trap '' INT TERM HUP
        dir=$1
        shift
        bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
        as=''
        if [ "$(id -u)" = 0 ]; then
            chown postgres "$dir"
            as='setpriv --reuid=postgres --regid=postgres --init-groups'
        fi
        cd "$dir"
        $as "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$dir/initdb.log" 2>&1
        $as "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c max_connections=200 \\
            -c fsync=off -c max_wal_size=128MB "$@" >"$dir/postgres.log" 2>&1 &
        server=$!
        until $as "$bin/pg_isready" -q -h "$dir" -U postgres; do kill -0 $server; sleep 0.02; done
        echo ready
        read -r _ || true
        kill -QUIT $server || true
        wait $server || true
        rm -rf "$dir"
        """

    /// Returns when the server accepts connections, with the end of the pipe that keeps it alive.
    private static func runScript(directory: String, settings: [String]) -> CInt {
        let (input, lifeline) = closeOnExecPipe(), (response, output) = closeOnExecPipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        let words = ["setsid", "sh", "-c", script, "cluster", directory] + settings.flatMap { ["-c", $0] }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        guard posix_spawnp(&process, "setsid", &actions, nil, &arguments, environ) == 0 else {
            fatalError("setsid cannot be started")
        }
        close(input)
        close(output)
        var reply = [UInt8](repeating: 0, count: 6)
        guard read(response, &reply, 6) == 6 else { fatalError("PostgreSQL did not start; see \(directory)/*.log") }
        close(response)
        return lifeline
    }

    /// Closed on exec, so that no other child of the tests keeps the cluster alive.
    private static func closeOnExecPipe() -> (read: CInt, write: CInt) {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { fatalError("pipe failed: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
