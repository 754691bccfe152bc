import Wire

extension Log {
    /// Writes a line of a request's journey, for `parley trace`. The event begins with `traced: `.
    public func info(_ event: StaticString, _ trace: TraceContext, _ fields: [LogField]) {
        info(event, [LogField("trace", trace.traceText), LogField("parent", trace.parentText)] + fields)
    }
}
