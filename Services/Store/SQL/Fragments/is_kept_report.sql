-- Whether the report `r` is open, or was resolved not long ago. The others are as good as gone.
(r.is_open OR r.resolved_at >= (SELECT {ChangeTime.now}) - {ContractLimits.resolvedReportLifetime})
