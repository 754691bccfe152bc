// swift-tools-version: 6.2
import PackageDescription

// Dependencies point one way: services and clients import shared modules, never each other; `Models` imports nothing;
// a C library has one wrapper (`Bus`, `Postgres`, `Edge`, `Reactor`, `ServiceKit`, `ReactorTransport`, `ParleyStorage`,
// `ParleyChat`), except for single calls, such as a hash. `make build` passes
// `--explicit-target-dependency-import-check error`, so an import that is not declared here does not compile.

// With `PARLEY_FUZZ=1`, which `Tests/fuzz` sets, the package is another: the code that reads what strangers send, made to
// tell libFuzzer how far each input gets, and one executable that is no service.
let isForFuzzing = Context.environment["PARLEY_FUZZ"] == "1"
let fuzzing = ["-sanitize=fuzzer,address"]

// With `PARLEY_TESTS=1`, which `Tests/run` sets, what users run is built so that unit tests can be linked with it, and with
// one check more: one build serves all stages.
let isForTests = Context.environment["PARLEY_TESTS"] == "1"

/// Does not check at run time whether accesses to a variable overlap, which would take a tenth of what `ingest` does.
/// Above `settings`: a variable of a manifest is empty memory until its line has run.
let unchecked = "-enforce-exclusivity=unchecked"

let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .unsafeFlags(
        [
            // The byte and JSON primitives live in modules of their own; this lets the optimiser inline what is `public`
            // there into the services. What is `package` it leaves alone, so nothing is.
            "-cross-module-optimization",
            isForTests ? "-enable-testing" : unchecked,
        ], .when(configuration: .release)),
    .unsafeFlags(isForFuzzing ? fuzzing + ["-enable-testing"] : []),
]

/// SQL and JSON become `PackageResources` of their target. SwiftPM's own `.embedInCode` writes them as arrays of numbers,
/// over which the compiler took a tenth of a build.
func embedding(_ files: [String]) -> [Target.PluginUsage] { files.isEmpty ? [] : ["EmbedFiles"] }

/// Every byte passes through the shared modules, and the instructions of what users run are counted: they are checked in
/// debug builds alone, which `Tests/sanitizers` makes of them.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], embedding files: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Shared/\(name)", exclude: files,
        swiftSettings: settings + [.unsafeFlags([unchecked], .when(configuration: .release))],
        plugins: embedding(files))
}

/// What several programs of `Clients/` are made of.
func client(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Clients/\(name)", swiftSettings: settings)
}

/// The modules of ParleyKit. They see Foundation, SQLite, `Models` and, for SHA-256, what the platform has, so that Apple
/// platforms can build them.
func kit(_ name: String, _ dependencies: [Target.Dependency], also further: [SwiftSetting] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Clients/ParleyKit/\(name)", swiftSettings: settings + further)
}

/// Optimised in debug builds, too, where thousands of runs of the simulation spend their time. What is checked at run time
/// stays checked.
let simulated: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]

func executable(
    _ name: String, _ path: String, _ dependencies: [Target.Dependency], embedding files: [String] = []
) -> Target {
    guard isForFuzzing else {
        return .executableTarget(
            name: name, dependencies: dependencies, path: path, exclude: files, swiftSettings: settings,
            plugins: embedding(files))
    }
    return .target(
        name: name, dependencies: dependencies, path: path, exclude: files + ["Main.swift"], swiftSettings: settings,
        plugins: embedding(files))
}

/// An optimiser would take longer over the tests than they take. What fails names its line without debug information.
let unoptimised: [SwiftSetting] = [.unsafeFlags(["-Onone", "-gnone"], .when(configuration: .release))]

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies + ["TestSupport"], path: "Tests/\(name)Tests",
        exclude: exclude,
        swiftSettings: settings + unoptimised)
}

func library(_ name: String) -> Target { .systemLibrary(name: name, path: "Shared/C/\(name)") }

/// In `make test` with a generator of damage; with `PARLEY_FUZZ=1` with libFuzzer.
var fuzzTests: Target {
    let dependencies: [Target.Dependency] = [
        "Archives", "Bus", "Bytes", "Edge", "Fanout", "Ingest", "JSON", "Media", "Models", "ParleyClient",
        "Postgres", "ServiceKit", "TestSupport", "Wire",
    ]
    let path = "Tests/FuzzTests"
    guard isForFuzzing else {
        return .testTarget(
            name: "FuzzTests", dependencies: dependencies, path: path,
            exclude: ["CLibFuzzer", "Findings", "LibFuzzer"],
            swiftSettings: settings + unoptimised)
    }
    return .executableTarget(
        name: "fuzz", dependencies: dependencies + ["CLibFuzzer"], path: path,
        exclude: ["CLibFuzzer", "Findings", "Damage.swift", "FuzzTests.swift"],
        swiftSettings: settings, linkerSettings: [.unsafeFlags(fuzzing + ["-use-ld=lld"])])
}

let package = Package(
    name: "parley",
    products: isForFuzzing
        ? []
        : [
            .executable(name: "ingest", targets: ["Ingest"]),
            .executable(name: "store", targets: ["Store"]),
            .executable(name: "receipt", targets: ["Receipt"]),
            .executable(name: "fanout", targets: ["Fanout"]),
            .executable(name: "media", targets: ["Media"]),
            .executable(name: "media-inspector", targets: ["MediaInspector"]),
            .executable(name: "parley", targets: ["ParleyCLI"]),
            .executable(name: "parley-load", targets: ["ParleyLoad"]),
            .library(name: "ParleyKit", targets: ["ParleyKit", "ParleyPresentation"]),
            .library(name: "ParleyLinuxTransport", targets: ["ParleyLinuxTransport"]),
        ],
    targets: [
        library("CLinux"), library("CZMQ"), library("CPQ"), library("CHTTPParser"), library("CJWT"), library("CCrypto"),
        library("CTLS"), library("CSQLite"), library("CNcurses"), library("CSeccomp"), library("CHEIF"), library("CAV"),
        library("CCurl"), library("CExpat"),
        .systemLibrary(name: "CVips", path: "Shared/C/CVips", pkgConfig: "gobject-2.0"),
        .systemLibrary(name: "CLibFuzzer", path: "Tests/FuzzTests/CLibFuzzer"),

        .plugin(
            name: "EmbedFiles", capability: .buildTool(), path: "Shared/Plugins/EmbedFiles", exclude: ["embed-files"]),

        module("Models"),
        module("Bytes", ["Models"]),
        module("JSON", ["Bytes", "Models"]),
        module("Reactor", ["CLinux"]),
        module("Wire", ["Bytes", "JSON", "Models"]),
        module("Bus", ["CZMQ", "CLinux", "Reactor", "Bytes", "Models", "Wire"]),
        module("Postgres", ["CPQ", "CLinux", "Reactor", "Bytes", "Models"]),
        module(
            "Slots", ["Bus", "Models", "Postgres", "Reactor", "ServiceKit", "Wire"],
            embedding: ["SQL"]),
        module("Curl", ["CCurl"]),
        module("Edge", ["CHTTPParser", "CCrypto", "CLinux", "Reactor", "Bytes"]),
        module(
            "ServiceKit",
            ["Bus", "CCrypto", "CJWT", "CLinux", "Reactor", "Bytes", "JSON", "Edge", "Models", "Wire"]),

        executable(
            "Ingest", "Services/Ingest",
            ["Bus", "Bytes", "CCrypto", "CCurl", "Curl", "Edge", "JSON", "Models", "Reactor", "ServiceKit", "Wire"],
            embedding: ["openapi.json"]),
        executable(
            "Store", "Services/Store",
            ["Bus", "Bytes", "Edge", "JSON", "Models", "Postgres", "Reactor", "ServiceKit", "Slots", "Wire"],
            embedding: ["Migrations", "SQL"]),
        executable(
            "Receipt", "Services/Receipt",
            ["Bus", "Bytes", "Edge", "JSON", "Models", "Postgres", "Reactor", "ServiceKit", "Slots", "Wire"],
            embedding: ["Migrations", "SQL"]),
        executable(
            "Fanout", "Services/Fanout",
            ["Bus", "Bytes", "Edge", "JSON", "Models", "Reactor", "ServiceKit", "Slots", "Wire"]),
        executable(
            "Media", "Services/Media",
            [
                "Bus", "Bytes", "CCrypto", "CCurl", "CExpat", "CLinux", "Curl", "Edge", "JSON", "Models", "Postgres",
                "Reactor",
                "ServiceKit", "Slots", "Wire",
            ],
            embedding: ["Migrations", "SQL"]),
        executable(
            "MediaInspector", "Services/MediaInspector",
            ["Bytes", "CAV", "CHEIF", "CLinux", "CSeccomp", "CVips", "JSON"]),
        client(
            "ReactorTransport",
            ["Bytes", "CCrypto", "CHTTPParser", "CLinux", "CTLS", "Models", "Reactor"]),
        client("ParleyClient", ["Bytes", "JSON", "Models", "ParleyDigest", "Reactor", "ReactorTransport"]),
        kit("ParleyDigest", [.byName(name: "CCrypto", condition: .when(platforms: [.linux]))]),
        kit("ParleyStorage", ["CSQLite", "Models", "ParleyDigest"], also: simulated),
        kit("ParleySync", ["Models", "ParleyStorage"], also: simulated),
        kit("ParleyPresentation", ["Models", "ParleyStorage"]),
        kit("ParleyTransport", []),
        // Not for Linux: its Foundation has no WebSockets, and its networking comes with libcurl. A test tries it there.
        kit("ParleyFoundationTransport", ["ParleyTransport"]),
        kit(
            "ParleyKit",
            [
                "Models", "ParleyDigest", "ParleyStorage", "ParleySync", "ParleyTransport",
                .byName(name: "ParleyFoundationTransport", condition: .when(platforms: [.iOS, .macOS])),
            ]),
        kit(
            "ParleyKitTesting", ["Models", "ParleyDigest", "ParleyKit", "ParleyStorage", "ParleySync"], also: simulated),
        // What Foundation has not on Linux. Nothing else of ParleyKit sees it.
        kit(
            "ParleyLinuxTransport",
            ["Bytes", "Models", "ParleyKit", "ParleyTransport", "Reactor", "ReactorTransport"]),
        // `docs/parleykit.md` quotes it.
        .executableTarget(
            name: "ParleyExample", dependencies: ["ParleyKit", "ParleyLinuxTransport"],
            path: "Clients/ParleyKit/Example", swiftSettings: settings),
        client(
            "ParleyChat",
            ["CNcurses", "Models", "ParleyKit", "ParleyPresentation", "ParleyStorage", "ParleySync", "Reactor"]),
        client(
            "CommandSupport", ["CLinux", "Models", "ParleyClient", "Reactor", "ReactorTransport", "ServiceKit"]),
        client("Archives", ["JSON", "Models", "ParleyDigest", "ParleyStorage"]),
        executable(
            "ParleyCLI", "Clients/parley",
            [
                "Archives", "Bytes", "CCrypto", "CommandSupport", "JSON", "Models", "ParleyChat", "ParleyClient",
                "ParleyKit", "ParleyLinuxTransport", "ParleyPresentation", "Postgres", "Reactor", "ReactorTransport",
                "ServiceKit",
            ]),
        executable(
            "ParleyLoad", "Clients/parley-load",
            [
                "Bytes", "CLinux", "CommandSupport", "JSON", "Models", "ParleyClient", "Reactor", "ReactorTransport",
                "ServiceKit",
            ]),

        .executableTarget(
            name: "BatchLoad", dependencies: ["Postgres", "Models", "Reactor"], path: "Tests/Load/BatchLoad",
            swiftSettings: settings),
        .executableTarget(
            name: "BusLoad", dependencies: ["Bus", "Bytes", "Models", "Reactor", "Wire"], path: "Tests/Load/BusLoad",
            swiftSettings: settings),
        .executableTarget(
            name: "HotPaths", dependencies: ["Bytes", "Edge", "JSON", "Models", "Postgres", "Wire"],
            path: "Tests/Load/HotPaths", swiftSettings: settings),
        .executableTarget(
            name: "KitLoad", dependencies: ["Models", "ParleyKit", "ParleyStorage", "ParleyTransport"],
            path: "Tests/Load/KitLoad", swiftSettings: settings),
        .executableTarget(
            name: "SignalLoad", dependencies: ["Bus", "Models", "Postgres", "Reactor", "Wire"],
            path: "Tests/Load/SignalLoad", swiftSettings: settings),
        .executableTarget(
            name: "KitDriver",
            dependencies: ["ParleyFoundationTransport", "ParleyKit", "ParleyLinuxTransport", "ParleyTransport"],
            path: "Tests/System/KitDriver", swiftSettings: settings),
        .executableTarget(
            name: "RecodeModels", dependencies: ["ModelsSupport"], path: "Tests/Contract/RecodeModels",
            swiftSettings: settings),
        .target(
            name: "ModelsSupport", dependencies: ["Archives", "Models"], path: "Tests/ModelsSupport",
            swiftSettings: settings),
        .target(name: "TestSupport", dependencies: ["Reactor"], path: "Tests/Support", swiftSettings: settings),
        // It plays libpq, so it makes results as libpq does.
        .target(
            name: "SimulationSupport", dependencies: ["Bytes", "CPQ", "Postgres", "Reactor"],
            path: "Tests/SimulationSupport", swiftSettings: settings),
        .target(
            name: "PostgresSupport", dependencies: ["Postgres", "Reactor"], path: "Tests/PostgresSupport",
            swiftSettings: settings),
        tests("Models", ["Models", "ModelsSupport"]),
        tests("Bytes", ["Bytes", "Models"]),
        tests("JSON", ["JSON", "Bytes", "Models"]),
        tests("Reactor", ["Reactor", "CLinux"]),
        tests("Wire", ["Wire", "Bytes", "Models", "JSON"]),
        tests("Bus", ["Bus", "Reactor", "Bytes", "Models", "Wire"]),
        tests("Postgres", ["Postgres", "Reactor", "Bytes", "Models", "PostgresSupport"]),
        tests("Slots", ["Slots", "Models", "Postgres", "PostgresSupport", "Reactor", "Wire"]),
        tests("Edge", ["Edge", "Reactor", "Bytes"]),
        tests(
            "ServiceKit",
            ["ServiceKit", "Bus", "Reactor", "Bytes", "JSON", "Models", "Edge", "CCrypto", "CJWT", "Wire"]),
        tests("Ingest", ["Ingest", "Bus", "Bytes", "JSON", "Models", "Wire", "Reactor", "Edge", "ServiceKit"]),
        tests(
            "Store",
            [
                "Store", "Bus", "Bytes", "JSON", "Models", "Wire", "Postgres", "PostgresSupport", "Reactor", "Receipt",
                "ServiceKit", "Slots",
            ]),
        tests(
            "Receipt",
            [
                "Receipt", "Bus", "Bytes", "JSON", "Models", "Wire", "Postgres", "PostgresSupport", "Reactor",
                "ServiceKit", "Slots", "Store",
            ]),
        tests(
            "Media",
            [
                "Bytes", "Edge", "JSON", "Media", "Models", "Postgres", "PostgresSupport", "Reactor", "ServiceKit",
                "Slots", "Wire",
            ]),
        tests("MediaInspector", ["MediaInspector"]),
        tests("Fanout", ["Fanout", "Bus", "Edge", "ServiceKit", "Bytes", "JSON", "Models", "Wire", "Reactor"]),
        tests(
            "ParleyKit",
            [
                "Models", "ParleyDigest", "ParleyKit", "ParleyKitTesting", "ParleyPresentation", "ParleyStorage",
                "ParleySync", "ParleyTransport",
            ],
            exclude: ["Fixtures"]),
        tests(
            "ParleyChat", ["Models", "ParleyChat", "ParleyKit", "ParleyPresentation", "ParleyStorage", "ParleySync"]),
        tests("Archives", ["Archives", "Models"]),
        fuzzTests,
        tests(
            "Simulation",
            [
                "Bus", "Bytes", "Edge", "Fanout", "Ingest", "JSON", "Models", "ParleyClient", "Postgres",
                "PostgresSupport", "Reactor", "ReactorTransport", "Receipt", "ServiceKit", "SimulationSupport", "Store",
                "Wire",
            ],
            exclude: ["README.md"]),
        tests(
            "ParleyCLI",
            [
                "Archives", "Bytes", "CommandSupport", "Edge", "JSON", "Models", "ParleyCLI", "ParleyClient",
                "ParleyDigest", "ParleyLoad", "Reactor", "ReactorTransport", "ServiceKit",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// `Tests/sanitizers` names the test targets it runs, so that nothing is built but these and what they depend on.
if let named = Context.environment["PARLEY_TEST_TARGETS"] {
    var kept = Set(named.split(separator: " ").map(String.init))
    var waiting = Array(kept)
    while let name = waiting.popLast(), let target = package.targets.first(where: { $0.name == name }) {
        for case .byNameItem(let dependency, _) in target.dependencies where kept.insert(dependency).inserted {
            waiting.append(dependency)
        }
    }
    package.products = []
    package.targets.removeAll { !kept.contains($0.name) && $0.type != .plugin }
}
