// The types that contrib/grafana/viewtally.json must have: those of Grafana, narrowed to the kinds of panels that it uses.
import type { Dashboard, DataQuery, DataSourceRef, FieldConfigSource, Panel, RowPanel } from '@grafana/schema';
import type * as Stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as TimeSeries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// The JSON of a type: an enumeration of texts is any of its texts.
export type Json<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

// Grafana's package does not contain the type of a query of the Prometheus data source, except for the members of all queries.
interface PrometheusQuery extends DataQuery {
  datasource: DataSourceRef;
  editorMode: 'code' | 'builder';
  expr: string;
  legendFormat: string;
  range: boolean;
  instant: boolean;
}

interface TypedPanel<Type, Options, Custom> extends Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> {
  type: Type;
  title: string;
  options: Options;
  fieldConfig: Omit<FieldConfigSource, 'defaults'> & { defaults: Omit<FieldConfigSource['defaults'], 'custom'> & { custom?: Custom } };
  targets: PrometheusQuery[];
}

type AnyPanel =
  | TypedPanel<'timeseries', TimeSeries.Options, TimeSeries.FieldConfig>
  | TypedPanel<'stat', Stat.Options, never>
  | (Omit<RowPanel, 'panels'> & { type: 'row'; panels: [] });

export type ViewtallyDashboard = Json<Omit<Dashboard, 'panels'> & { panels: AnyPanel[] }>;
