import Testing

@testable import CommandSupport

@Suite struct SystemSettingsTests {
    @Test("without any setting one instance is expected at the usual ports")
    func defaults() {
        let system = SystemSettings(environment: [:], settingsFile: "")
        #expect(system.http == ["http://127.0.0.1:8080"])
        #expect(system.webSocket == ["ws://127.0.0.1:8081"])
    }

    @Test("the environment goes before what the system was started with, and every instance is found")
    func order() {
        let system = SystemSettings(
            environment: ["PARLEY_HTTP_PORT": "9000"],
            settingsFile:
                "PARLEY_HOST=10.0.0.7\nPARLEY_HTTP_PORT=7000\nPARLEY_WS_PORT=7001\nPARLEY_DATABASE_URL=\nPARLEY_FANOUTS=2\n"
        )
        #expect(system.http == ["http://10.0.0.7:9000"])
        #expect(system.webSocket == ["ws://10.0.0.7:7001", "ws://10.0.0.7:7011"])
    }
}
